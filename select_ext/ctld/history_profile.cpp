#include "select_ext/ctld/history_profile.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace penstock {
namespace {

// The prior of the spread between runs. Rows of one configuration in the
// throughput tables scatter by 12% (standard deviation of the logarithm). The
// prior weighs as much as kPriorRuns differences.
constexpr double kPriorLogDeviation = 0.12;
constexpr int kPriorRuns = 4;
constexpr double kWidestError = 0.9;  // a profile's error must be under 1

// Student's t, 95th percentile, at 4, 5, ... degrees of freedom.
constexpr std::array<double, kMaxRunsOfProfile> kT95 = {
    2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782, 1.771,
    1.761, 1.753, 1.746, 1.740, 1.734, 1.729, 1.725, 1.721, 1.717, 1.714};
static_assert(kPriorRuns == 4);

// Logarithms of one figure, one per run.
struct Logs {
  std::vector<double> values;

  void add(double figure) {
    if (std::isnormal(figure) && figure > 0) values.push_back(std::log(figure));
  }

  double mean() const {
    double sum = 0;
    for (double value : values) sum += value;
    return sum / double(values.size());
  }

  double geometric_mean() const {
    return values.empty() ? 0 : std::exp(mean());
  }

  // Half width of the 90% interval of the next value: the normal distribution
  // with unknown mean and a scaled inverse chi-squared prior of its variance.
  double half_width() const {
    if (values.empty()) return 0;
    const double runs = double(values.size());
    double squares = kPriorRuns * kPriorLogDeviation * kPriorLogDeviation;
    for (double value : values) squares += std::pow(value - mean(), 2);
    const double freedom = kPriorRuns + runs - 1;
    const double deviation = std::sqrt(squares / freedom * (1 + 1 / runs));
    return kT95[values.size() - 1] * deviation;
  }
};

}  // namespace

std::optional<RunFigures> figures_of(const JobRecord& record) {
  const double ceiling = record.ceiling_samples_per_s.value_or(0);
  if (record.measured_s < kMinMeasured_s || !(ceiling > 0)) return std::nullopt;
  return RunFigures{ceiling, record.loader_cpu_s_per_sample.value_or(0),
                    record.trainer_reserve_cores.value_or(0),
                    record.storage_bytes_per_sample.value_or(0)};
}

Profile profile_of_runs(const std::vector<RunFigures>& runs,
                        const std::string& name) {
  Logs seconds, loader_cpu, trainer_cpu, bytes;
  for (const RunFigures& run : runs) {
    seconds.add(1 / run.ceiling_samples_per_s);
    loader_cpu.add(run.loader_cpu_s_per_sample);
    trainer_cpu.add(run.trainer_reserve_cores / run.ceiling_samples_per_s);
    bytes.add(run.storage_bytes_per_sample);
  }
  Profile profile;
  profile.name = name;
  profile.accelerator_s_per_sample = seconds.geometric_mean();
  profile.loader_cpu_s_per_sample = loader_cpu.geometric_mean();
  profile.trainer_cpu_s_per_sample = trainer_cpu.geometric_mean();
  profile.bytes_per_sample = bytes.geometric_mean();
  // All figures share one error, that of the widest interval.
  double width = 0;
  for (const Logs* logs : {&seconds, &loader_cpu, &bytes}) {
    width = std::max(width, logs->half_width());
  }
  // The interval must be symmetric, so take its longer side.
  profile.relative_error = std::min(std::expm1(width), kWidestError);
  return profile;
}

}  // namespace penstock
