#include "predictor/arrival.h"

#include <cmath>

#include "predictor/exchange.h"
#include "predictor/figures.h"

namespace penstock {
namespace {

struct CpuClass {
  const char* name;
  double s_per_byte;
  // Interval as factors, for other libraries and machines.
  double low, high;
};

// Measured with 400 JPEGs of 55 KB (500 x 375, quality 90) to 224 x 224 crops.
// torchvision with PIL takes 2.24 ms of a core per picture, the fastest library
// 0.7 times and a slow core 1.5 times as long. The same pictures as 630 KB of
// pixels take 0.74 ms.
constexpr CpuClass kCpuClasses[] = {
    {"raw", 1.2e-9, 0.5, 2.0},
    {"jpeg", 41e-9, 0.6, 2.0},
};

bool has(const LogSumParameters& parameters, const std::string& level) {
  return parameters.effects.contains(level);
}

}  // namespace

std::string kind_of(const DescribedJob& described,
                    const ArrivalParameters& parameters) {
  const bool complete =
      described.costs == Costs::kListed && described.job.activations_m > 0;
  const std::string kind =
      costs_name(complete ? Costs::kGiven : described.costs);
  const bool family =
      has(parameters.roofline, "family:" + described.job.family);
  const bool gpu = has(parameters.roofline, "gpu:" + described.gpu.name);
  return kind + (family ? gpu ? "/known" : "/new_gpu"
                 : gpu  ? "/new_family"
                        : "/new_both");
}

LogInterval interval_of(const ArrivalParameters& parameters,
                        const std::string& kind) {
  const auto found = parameters.intervals.find(kind);
  // Not calibrated: a factor of ten.
  return found == parameters.intervals.end() ? LogInterval{-2.3, 2.3}
                                             : found->second;
}

IterationTime one_gpu_time(const DescribedJob& described,
                           const LogSumParameters& roofline) {
  const std::vector<double> terms =
      log_terms(roofline_form(), roofline_input(described), roofline);
  return {described.batch *
              (std::exp(terms[kOverhead]) + std::exp(terms[kParameters])),
          std::exp(terms[kCompute]) + std::exp(terms[kMemory])};
}

IterationTime job_time(const DescribedJob& described,
                       const LogSumParameters& roofline,
                       const LogSumParameters& exchange) {
  const IterationTime one = one_gpu_time(described, roofline);
  if (described.job.gpus == 1) return one;
  const auto total_s = [&](double batch) {
    return several_gpus_s(described, one.at(batch), exchange);
  };
  // The time per sample is the increase with twice the batch.
  const double at_batch = total_s(described.batch);
  const double sample_s =
      (total_s(2 * described.batch) - at_batch) / described.batch;
  return {std::max(0.0, at_batch - described.batch * sample_s), sample_s};
}

Figure rate_per_gpu(const DescribedJob& described,
                    const ArrivalParameters& parameters) {
  double iteration_s =
      one_gpu_time(described, parameters.roofline).at(described.batch);
  LogInterval error = interval_of(parameters, kind_of(described, parameters));
  if (described.job.gpus > 1) {
    const bool many = described.job.nodes > 1;
    const LogSumParameters& learned =
        many ? parameters.many_nodes : parameters.one_node;
    iteration_s = several_gpus_s(described, iteration_s, learned);
    // The two errors are independent.
    const LogInterval added =
        interval_of(parameters, many ? "many_nodes" : "one_node");
    error = {-std::hypot(error.low, added.low),
             std::hypot(error.high, added.high)};
  }
  const double rate = described.batch / iteration_s;
  return {rate, rate * std::exp(std::min(0.0, error.low)),
          rate * std::exp(std::max(0.0, error.high))};
}

Result<Figure> loader_cpu_s(const std::string& cpu_class,
                            double bytes_per_sample) {
  std::string names;
  for (const CpuClass& it : kCpuClasses) {
    if (cpu_class == it.name) {
      const double cost = it.s_per_byte * bytes_per_sample;
      return Figure{cost, cost * it.low, cost * it.high};
    }
    names += (names.empty() ? "" : ", ") + std::string(it.name);
  }
  return Error{Code::kNotFound, 0, "unknown class; allowed: " + names};
}

Prediction predict_arrival(const DescribedJob& described,
                           const LoaderCosts& costs,
                           const ArrivalParameters& parameters) {
  Prediction out;
  out.ceiling_samples_per_s = rate_per_gpu(described, parameters);
  out.loader_cpu_s_per_sample = costs.cpu_s_per_sample;
  if (costs.bytes_known) {
    out.storage_bytes_per_sample = {
        costs.bytes_per_sample, costs.bytes_per_sample, costs.bytes_per_sample};
  }
  out.demand_cores =
      product(out.ceiling_samples_per_s, out.loader_cpu_s_per_sample);
  out.demand_bytes_per_s =
      product(out.ceiling_samples_per_s, out.storage_bytes_per_sample);
  out.basis = "arrival, " + kind_of(described, parameters);
  return out;
}

}  // namespace penstock
