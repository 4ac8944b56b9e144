#include "report/core_model.h"

#include <algorithm>
#include <cmath>

#include "report/advice.h"

namespace penstock {
namespace {

// A job that uses this share of its CPUs has no more to use.
constexpr double kSaturated = 0.85;
// A thread that uses less of a core than this sleeps in between.
constexpr double kAwake = 0.85;
// A job that reads this share of what storage supplies is bound by it.
constexpr double kReadsAll = 0.8;
// Fewer lent cores in use make no difference.
constexpr double kLent = 0.05;
constexpr int kBisections = 50;

}  // namespace

std::optional<CoreModel> CoreModel::of(const JobReport& report) {
  const CoreFigures& cores = report.cores;
  if (!report.what_if || report.what_if->points.size() < 2 ||
      !report.what_if->here_rate || !(*report.what_if->here_rate > 0) ||
      !cores.allocated || !report.tasks ||
      cores.loader_kind == LoaderKind::kUnknown) {
    return std::nullopt;
  }
  return CoreModel(report);
}

int CoreModel::cpus() const {
  return int(std::clamp(std::round(*report_.cores.allocated / tasks()), 1.0,
                        double{kMostPerTask}));
}

int CoreModel::most_cpus() const {
  if (!report_.cores.node) return kMostPerTask;
  return int(
      std::clamp(*report_.cores.node / tasks(), 1.0, double{kMostPerTask}));
}

double CoreModel::trainer(double rate) const {
  const CoreFigures& cores = report_.cores;
  if (cores.trainer_demand && curve_.ceiling > 0) {
    return cores.trainer_demand->value * rate / curve_.ceiling;
  }
  return cores.reserve.value_or(0);
}

double CoreModel::rate_at(double cores, Rate end) const {
  const auto& points = curve_.points;
  const auto after = std::find_if(
      points.begin(), points.end(),
      [cores](const RateAtCores& point) { return point.cores >= cores; });
  if (after == points.end()) return points.back().rate.*end;
  if (after == points.begin()) return after->rate.*end;
  const RateAtCores& before = *(after - 1);
  const double part = (cores - before.cores) / (after->cores - before.cores);
  return before.rate.*end + part * (after->rate.*end - before.rate.*end);
}

double CoreModel::cores_for(double rate, Rate end) const {
  double low = 0, high = curve_.points.back().cores;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (rate_at(middle, end) >= rate ? high : low) = middle;
  }
  return high;
}

double CoreModel::loader_cores(double cpus, Rate end) const {
  double low = 0, high = std::min(cpus, curve_.points.back().cores);
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    const double used = middle + trainer(rate_at(middle, end));
    (used <= cpus ? low : high) = middle;
  }
  return low;
}

bool CoreModel::is_saturated() const {
  const double has =
      *report_.cores.allocated + report_.cores.granted_away.value_or(0);
  return used() + trainer(here_rate()) >= kSaturated * has;
}

bool CoreModel::was_lent() const {
  return report_.cores.used_away.value_or(0) >= kLent;
}

double CoreModel::usable() const {
  if (report_.cores.loader_grows) return kMostPerTask * tasks();
  const double own = report_.cores.loader_kind == LoaderKind::kTrainer
                         ? std::max(1.0, double(report_.ranks))
                         : threads() * cores_of_thread();
  return std::max(own, used());
}

double CoreModel::cores_of_thread() const {
  if (!(threads() > 0) || is_saturated()) return 1;
  const double share = used() / threads();
  return share < kAwake ? std::max(share, 1e-3) : 1;
}

bool CoreModel::is_bound_by_storage() const {
  if (cores_of_thread() == 1) return false;
  const BandwidthFigures& storage = report_.bandwidth;
  if (storage.pool.empty() || !storage.used_bytes_per_s) {
    const DataWaits waits = data_waits(report_.breakdown);
    return waits.storage_s.value_or(0) > waits.cpu_s.value_or(0);
  }
  double supplied = storage.pool_bytes_per_s.value_or(0);
  if (storage.granted_bytes_per_s) {
    supplied = std::min(supplied, *storage.granted_bytes_per_s);
  }
  return *storage.used_bytes_per_s >= kReadsAll * supplied;
}

}  // namespace penstock
