// Prediction of a job's rate when it arrives, from what it is described by.
// docs/model.md, section "Prediction at arrival". Pure.
#pragma once

#include <map>
#include <string>

#include "predictor/log_sum.h"
#include "predictor/predictor.h"
#include "predictor/roofline.h"

namespace penstock {

// Within which log(measured / predicted) falls in 90% of cases.
struct LogInterval {
  double low = 0;
  double high = 0;
};

// What a calibration learns: the content of the parameter file.
struct ArrivalParameters {
  LogSumParameters roofline;    // one GPU
  LogSumParameters one_node;    // several GPUs, in one node
  LogSumParameters many_nodes;  // several GPUs, over nodes
  // By kind_of() for one GPU, "one_node" and "many_nodes" for what the
  // exchange adds.
  std::map<std::string, LogInterval> intervals;
};

// How well a job is known: "given", "listed" or "guessed" costs, then
// "known", "new_family", "new_gpu" or "new_both", with '/' between. What the
// built-in table lists with activations is as good as given.
std::string kind_of(const DescribedJob& described,
                    const ArrivalParameters& parameters);

// The interval of that name; a factor of ten either way where nothing was
// calibrated.
LogInterval interval_of(const ArrivalParameters& parameters,
                        const std::string& name);

// The time of an iteration on one GPU splits into what a sample takes and
// what every iteration takes besides: s = fixed_s + batch x sample_s.
struct IterationTime {
  double fixed_s = 0;
  double sample_s = 0;

  double at(double batch) const { return fixed_s + batch * sample_s; }
};
IterationTime one_gpu_time(const DescribedJob& described,
                           const LogSumParameters& roofline);

// The same on the job's GPUs. exchange: one_node or many_nodes, as the job is.
IterationTime job_time(const DescribedJob& described,
                       const LogSumParameters& roofline,
                       const LogSumParameters& exchange);

// Samples/s of one of the job's GPUs, with the 90% interval.
Figure rate_per_gpu(const DescribedJob& described,
                    const ArrivalParameters& parameters);

// What a sample costs the loader, where the job tells.
struct LoaderCosts {
  Figure cpu_s_per_sample;  // unknown: no class given
  double bytes_per_sample = 0;
  bool bytes_known = false;
};

// What preparing a sample of so many stored bytes takes of a core.
// cpu_class: "raw" (stored as pixels or tokens: copied) or "jpeg" (decoded,
// cropped, flipped); docs/model.md has the measurements.
// Errors: kNotFound  another class.
[[nodiscard]] Result<Figure> loader_cpu_s(const std::string& cpu_class,
                                          double bytes_per_sample);

// The whole prediction, per rank (GPU). Its basis is "arrival, KIND".
Prediction predict_arrival(const DescribedJob& described,
                           const LoaderCosts& costs,
                           const ArrivalParameters& parameters);

}  // namespace penstock
