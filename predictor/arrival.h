// Predicts an arriving job's rate from its description. docs/model.md, section
// "Prediction at arrival". Pure.
#pragma once

#include <map>
#include <string>

#include "predictor/log_sum.h"
#include "predictor/predictor.h"
#include "predictor/roofline.h"

namespace penstock {

// 90% interval of log(measured / predicted rate).
struct LogInterval {
  double low = 0;
  double high = 0;
};

// A calibration's result: the content of the parameter file.
struct ArrivalParameters {
  LogSumParameters roofline;    // one GPU
  LogSumParameters one_node;    // several GPUs in one node
  LogSumParameters many_nodes;  // several GPUs on several nodes
  // Keys: kind_of() for one GPU; "one_node" and "many_nodes" for the error that
  // the exchange adds; "two_points" and "two_points_many" in units of the
  // stated deviation.
  std::map<std::string, LogInterval> intervals;
};

// Quality of the information on a job: COSTS/NOVELTY, with COSTS "given",
// "listed" or "guessed", and NOVELTY "known", "new_family", "new_gpu" or
// "new_both". Costs from the built-in table count as given if the table also
// lists activations.
std::string kind_of(const DescribedJob& described,
                    const ArrivalParameters& parameters);

// The interval of this name; a factor of ten either way if not calibrated.
LogInterval interval_of(const ArrivalParameters& parameters,
                        const std::string& name);

// Time of an iteration: fixed_s + batch x sample_s.
struct IterationTime {
  double fixed_s = 0;
  double sample_s = 0;

  double at(double batch) const { return fixed_s + batch * sample_s; }
};
IterationTime one_gpu_time(const DescribedJob& described,
                           const LogSumParameters& roofline);

// Time of an iteration on the job's GPUs. exchange: ArrivalParameters::one_node
// or many_nodes, according to the job.
IterationTime job_time(const DescribedJob& described,
                       const LogSumParameters& roofline,
                       const LogSumParameters& exchange);

// Samples/s of one of the job's GPUs, with the 90% interval.
Figure rate_per_gpu(const DescribedJob& described,
                    const ArrivalParameters& parameters);

// The loader's costs per sample, as far as known.
struct LoaderCosts {
  Figure cpu_s_per_sample;  // unknown: no class given
  double bytes_per_sample = 0;
  bool bytes_known = false;
};

// CPU seconds for the preparation of one sample of bytes_per_sample stored
// bytes. cpu_class: "raw" (pixels or tokens, copied) or "jpeg" (decoded,
// cropped, flipped); docs/model.md has the measurements.
// Errors: kNotFound  unknown class; the message lists the classes.
[[nodiscard]] Result<Figure> loader_cpu_s(const std::string& cpu_class,
                                          double bytes_per_sample);

// The complete prediction, per rank (GPU). Its basis is "arrival, KIND".
Prediction predict_arrival(const DescribedJob& described,
                           const LoaderCosts& costs,
                           const ArrivalParameters& parameters);

}  // namespace penstock
