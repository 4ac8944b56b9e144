#include "predictor/roofline.h"

#include <cmath>

#include "predictor/model_table.h"
#include "predictor/traits.h"

namespace penstock {
namespace {

// Units: GFLOP, TFLOP/s, millions, GB/s. A training step costs three forward
// passes; 12 accesses of 4 bytes per activation, 8 per parameter.
constexpr double kPassesPerStep = 3;
constexpr double kBytesPerActivation = 48;
constexpr double kBytesPerParameter = 32;
constexpr double kOverheadS = 5e-3;
constexpr double kTypicalLayers = 0.5;  // hundreds

// Replace unknown costs of a sample; the effect of the task's level learns
// their error.
constexpr double kGuessedGflops = 1;
constexpr double kGuessedActivationsPerGflop = 1.9;  // millions
constexpr double kGuessedParamsM = 25;
constexpr double kGuessedBatch = 64;

Facts facts_of(const DescribedJob& described) {
  const JobFeatures& job = described.job;
  const bool half = job.precision == Precision::kHalf;
  const bool tf32 = job.precision == Precision::kTf32 &&
                    described.gpu.tensor_units(Precision::kTf32);
  Facts f = traits_of(job.model);
  f["half"] = half;
  f["tf32"] = tf32;
  f["reduced"] = half || tf32;  // the precision
  f["fp32"] = !half && !tf32;
  f["tensor"] = half && described.gpu.tensor_units(Precision::kHalf);
  f["tensorflow"] = job.software.framework == "tensorflow";
  // TensorFlow and MXNet choose the layout that tensor units prefer.
  f["nhwc"] = job.software.layout == "nhwc" ||
              (job.software.framework != "pytorch" && half);
  f["compiled"] = job.software.compiled;
  f["no_optimizer"] = job.software.no_optimizer;
  f["no_activations"] = job.activations_m == 0;
  f["log_layers"] = std::log(f["layers"] / kTypicalLayers);
  return f;
}

}  // namespace

const char* costs_name(Costs costs) {
  constexpr const char* kNames[] = {"given", "listed", "guessed"};
  return kNames[static_cast<int>(costs)];
}

DescribedJob describe(const JobFeatures& job, const GpuType* gpu) {
  DescribedJob out;
  out.job = job;
  out.gpu = gpu ? *gpu : find_gpu(job.gpu).type;
  JobFeatures& it = out.job;
  const ModelCosts* listed = find_model(job.model);
  if (listed) {
    if (it.family.empty()) it.family = listed->family;
    if (it.task.empty()) it.task = listed->task;
    if (it.unit.empty()) it.unit = listed->unit;
  }
  if (it.fwd_gflops_per_sample == 0) {
    out.costs = listed ? Costs::kListed : Costs::kGuessed;
    if (listed) {
      it.fwd_gflops_per_sample = listed->fwd_gflops_per_sample;
      if (it.activations_m == 0) it.activations_m = listed->activations_m;
    } else {
      it.fwd_gflops_per_sample = kGuessedGflops;
    }
  }
  if (it.params_m == 0) {
    it.params_m =
        listed && listed->params_m > 0 ? listed->params_m : kGuessedParamsM;
  }
  if (it.family.empty()) it.family = plain_name(it.model);
  out.batch = job.batch_per_gpu > 0 ? job.batch_per_gpu : kGuessedBatch;
  if (listed && out.job.unit == listed->unit) out.batch *= listed->per_item;
  return out;
}

const LogSumForm& roofline_form() {
  static const LogSumForm form = [] {
    LogSumForm out;
    out.terms = kRooflineTerms;
    out.coefficients = coefficients_of(
        "roofline", {"compute", "memory", "overhead", "parameters"});
    out.effects = {{"software", 0.25},     {"architecture", 0.1},
                   {"gpu", 0.08},          {"gpu_precision", 0.08},
                   {"family", 0.08},       {"listed", 0.5},
                   {"listed_family", 0.5}, {"guessed", 2.0},
                   {"guessed_family", 1.0}};
    return out;
  }();
  return form;
}

LogSumInput roofline_input(const DescribedJob& described) {
  const JobFeatures& job = described.job;
  const GpuType& gpu = described.gpu;
  LogSumInput out;
  const double activations_m =
      job.activations_m > 0
          ? job.activations_m
          : job.fwd_gflops_per_sample * kGuessedActivationsPerGflop;
  const double peak = gpu.peak_tflops(job.precision);
  const double log_batch = std::log(described.batch);
  out.bases = {
      std::log(kPassesPerStep * job.fwd_gflops_per_sample * 1e-3 / peak),
      std::log(kBytesPerActivation * activations_m * 1e-3 / gpu.memory_gbs),
      std::log(kOverheadS) - log_batch,
      std::log(kBytesPerParameter * job.params_m * 1e-3 / gpu.memory_gbs) -
          log_batch};
  out.features = features_of(roofline_form(), facts_of(described));

  const std::string precision = precision_name(job.precision);
  out.effects = {"software:" + job.software.key(),
                 "architecture:" + gpu.architecture + "/" + precision,
                 "gpu:" + gpu.name,
                 "gpu_precision:" + gpu.name + "/" + precision,
                 "family:" + job.family,
                 model_level(described)};
  if (described.costs == Costs::kListed) {
    out.effects.push_back("listed:" + job.unit);
    out.effects.push_back("listed_family:" + job.family);
  }
  if (described.costs == Costs::kGuessed) {
    out.effects.push_back("guessed:" + job.task + "/" + job.unit);
    out.effects.push_back("guessed_family:" + job.family);
  }
  return out;
}

std::string model_level(const DescribedJob& described) {
  return "model:" + plain_name(described.job.model) + "/" +
         described.job.software.key();
}

}  // namespace penstock
