#include "predictor/predictor.h"

#include "common/units.h"
#include "predictor/arrival.h"
#include "predictor/arrival_parameters.h"
#include "predictor/figures.h"
#include "predictor/model_table.h"
#include "predictor/rate_curve.h"

namespace penstock {
namespace {

bool finite_from(double x, double low) { return std::isfinite(x) && x >= low; }

Status check(const Profile& profile) {
  if (!profile.describes_job() &&
      (!std::isnormal(profile.accelerator_s_per_sample) ||
       profile.accelerator_s_per_sample < 0))
    return invalid("accelerator_s_per_sample: must be over 0");
  if (!finite_from(profile.loader_cpu_s_per_sample, 0))
    return invalid("loader_cpu_s_per_sample: must be 0 or more");
  if (!finite_from(profile.trainer_cpu_s_per_sample, 0))
    return invalid("trainer_cpu_s_per_sample: must be 0 or more");
  if (!finite_from(profile.bytes_per_sample, 0))
    return invalid("bytes_per_sample: must be 0 or more");
  if (!finite_from(profile.cached_share, 0) || profile.cached_share > 1)
    return invalid("cached_share: must be 0 to 1");
  if (!finite_from(profile.relative_error, 0) || profile.relative_error >= 1)
    return invalid("relative_error: must be 0 or more and under 1");
  for (double rate : profile.rate_at_cores)
    if (!std::isnormal(rate) || rate < 0)
      return invalid("rate_at_cores: every rate must be over 0");
  const std::vector<double>& cores = profile.cores;
  if (!cores.empty() && cores.size() != profile.rate_at_cores.size())
    return invalid("cores: must be as many as rate_at_cores");
  for (size_t i = 0; i < cores.size(); ++i)
    if (!std::isnormal(cores[i]) || cores[i] <= (i > 0 ? cores[i - 1] : 0))
      return invalid("cores: must be over 0 and ascend");
  return Done{};
}

Figure around(double value, double relative_error) {
  return {value, value * (1 - relative_error), value * (1 + relative_error)};
}

// Ceiling of a rank in samples/s. Also sets basis.
Result<Figure> ceiling_of(const Profile& profile, std::string& basis) {
  basis = "profile " + profile.name;
  if (!profile.describes_job())
    return around(1 / profile.accelerator_s_per_sample, profile.relative_error);
  if (profile.job.gpu.empty())
    return invalid(
        "gpu: missing; name it there, or set GPUType= in penstock.conf");
  if (!find_gpu(profile.job.gpu).known)
    return invalid("gpu: " + quoted(profile.job.gpu) +
                   " is not known; penstock predict --list-gpus has the types");
  const Result<ArrivalParameters>& learned = builtin_parameters();
  if (!learned) return learned.error();
  const DescribedJob described = describe(profile.job);
  basis += ", " + kind_of(described, *learned);
  Figure rate = rate_per_gpu(described, *learned);
  // Trainers count items of a batch, not the tokens in them.
  const ModelCosts* listed = find_model(profile.job.model);
  const double per_item = listed ? listed->per_item : 1;
  for (double* end : {&rate.value, &rate.low, &rate.high}) *end /= per_item;
  return rate;
}

Result<Figure> loader_cpu_of(const Profile& profile, double ceiling) {
  if (!profile.cpu_class.empty()) {
    Result<Figure> cost =
        loader_cpu_s(profile.cpu_class, profile.bytes_per_sample);
    if (!cost) return std::move(cost).error().wrap("cpu_class");
    return cost;
  }
  double cpu_s = profile.loader_cpu_s_per_sample;
  if (!profile.rate_at_cores.empty())
    cpu_s = cores_for_rate(rate_curve(profile), ceiling) / ceiling;
  return cpu_s > 0 ? around(cpu_s, profile.relative_error) : Figure{};
}

}  // namespace

Result<Prediction> predict(const Profile& profile) {
  if (Status status = check(profile); !status) return std::move(status).error();
  Prediction out;
  Result<Figure> ceiling = ceiling_of(profile, out.basis);
  if (!ceiling) return std::move(ceiling).error();
  out.ceiling_samples_per_s = *ceiling;
  Result<Figure> cpu_s = loader_cpu_of(profile, ceiling->value);
  if (!cpu_s) return std::move(cpu_s).error();
  out.loader_cpu_s_per_sample = *cpu_s;
  const double bytes = profile.bytes_per_sample * (1 - profile.cached_share);
  if (profile.bytes_per_sample > 0 || profile.cached_share == 1)
    out.storage_bytes_per_sample = around(bytes, profile.relative_error);
  out.demand_cores =
      product(out.ceiling_samples_per_s, out.loader_cpu_s_per_sample);
  out.demand_bytes_per_s =
      product(out.ceiling_samples_per_s, out.storage_bytes_per_sample);
  out.trainer_reserve_cores = profile.trainer_cpu_s_per_sample * ceiling->value;
  return out;
}

}  // namespace penstock
