#include "predictor/roofline.h"

#include <cmath>

#include "predictor/model_table.h"
#include "predictor/traits.h"

namespace penstock {
namespace {

// Inputs of the features.
struct Facts {
  Traits traits;
  double half, tensor, tf32, fp32;  // 1 or 0
  double nhwc, compiled, tensorflow, no_optimizer, no_activations;
  double log_layers;  // relative to 50 layers
};

// Units: GFLOP, TFLOP/s, millions, GB/s. A training step costs three forward
// passes; 12 accesses of 4 bytes per activation, 8 per parameter.
constexpr double kPassesPerStep = 3;
constexpr double kBytesPerActivation = 48;
constexpr double kBytesPerParameter = 32;
constexpr double kOverheadS = 5e-3;
constexpr double kTypicalLayers = 0.5;  // hundreds

struct Learned {
  Coefficient prior;
  double (*feature)(const Facts&);
};

// For each term first efficiencies, then the extra cost of operators relative
// to a plain convolution. Priors are wide without prior knowledge; otherwise
// they have a sign and a size: Winograd's algorithm on FP32, no tensor units
// for depthwise convolution, half the traffic without normalisation.
const Learned kLearned[] = {
    {{"compute", kCompute, 0.5, 0.3}, [](const Facts&) { return 1.0; }},
    {{"compute.tensor", kCompute, 0.5, 0.4},
     [](const Facts& f) { return f.tensor; }},
    {{"compute.tf32", kCompute, 0.2, 0.3},
     [](const Facts& f) { return f.tf32; }},
    {{"compute.nhwc", kCompute, -0.2, 0.2},
     [](const Facts& f) { return f.nhwc * f.tensor; }},
    {{"compute.winograd", kCompute, -0.5, 0.2},
     [](const Facts& f) { return f.traits.plain_3x3 * f.fp32; }},
    {{"compute.plain_3x3", kCompute, -0.2, 0.2},
     [](const Facts& f) { return f.traits.plain_3x3 * (1 - f.fp32); }},
    {{"compute.depthwise", kCompute, 0.5, 0.4},
     [](const Facts& f) { return f.traits.depthwise; }},
    {{"compute.depthwise.tensor", kCompute, 0.5, 0.4},
     [](const Facts& f) { return f.traits.depthwise * f.tensor; }},
    {{"compute.grouped", kCompute, 0.3, 0.3},
     [](const Facts& f) { return f.traits.grouped; }},
    {{"compute.grouped.tensor", kCompute, 0.4, 0.4},
     [](const Facts& f) { return f.traits.grouped * f.tensor; }},
    {{"compute.grouped.nhwc", kCompute, 0, 0.4},
     [](const Facts& f) { return f.traits.grouped * f.nhwc; }},
    {{"compute.wide_groups.nhwc", kCompute, 1.3, 0.4},
     [](const Facts& f) { return f.traits.wide_groups * f.nhwc * f.tensor; }},
    {{"compute.attention", kCompute, 0, 0.3},
     [](const Facts& f) { return f.traits.attention; }},
    {{"compute.mlp", kCompute, 0, 0.3},
     [](const Facts& f) { return f.traits.mlp; }},
    {{"compute.recurrent", kCompute, 0.5, 0.5},
     [](const Facts& f) { return f.traits.recurrent; }},
    {{"compute.large_kernel", kCompute, 0.7, 0.4},
     [](const Facts& f) { return f.traits.large_kernel; }},
    {{"compute.branches", kCompute, 0.2, 0.2},
     [](const Facts& f) { return f.traits.branches; }},
    {{"compute.split", kCompute, 0.2, 0.3},
     [](const Facts& f) { return f.traits.split; }},
    {{"compute.standardised", kCompute, 0, 0.3},
     [](const Facts& f) { return f.traits.standardised; }},
    {{"memory", kMemory, 0.3, 0.4}, [](const Facts&) { return 1.0; }},
    {{"memory.half", kMemory, -0.6, 0.2},
     [](const Facts& f) { return f.half; }},
    {{"memory.nhwc", kMemory, 0, 0.2}, [](const Facts& f) { return f.nhwc; }},
    {{"memory.compiled", kMemory, -0.3, 0.2},
     [](const Facts& f) { return f.compiled; }},
    {{"memory.depthwise", kMemory, 0, 0.3},
     [](const Facts& f) { return f.traits.depthwise; }},
    {{"memory.depthwise.nhwc", kMemory, 0, 0.3},
     [](const Facts& f) { return f.traits.depthwise * f.nhwc; }},
    {{"memory.grouped", kMemory, 0, 0.3},
     [](const Facts& f) { return f.traits.grouped; }},
    {{"memory.attention", kMemory, 0, 0.4},
     [](const Facts& f) { return f.traits.attention; }},
    {{"memory.attention.nhwc", kMemory, 0, 0.2},
     [](const Facts& f) { return f.traits.attention * f.nhwc; }},
    {{"memory.mlp", kMemory, 0, 0.4},
     [](const Facts& f) { return f.traits.mlp; }},
    {{"memory.recurrent", kMemory, 0.5, 0.5},
     [](const Facts& f) { return f.traits.recurrent; }},
    {{"memory.squeeze", kMemory, 0.2, 0.15},
     [](const Facts& f) { return f.traits.squeeze; }},
    {{"memory.gate", kMemory, 0.15, 0.15},
     [](const Facts& f) { return f.traits.gate; }},
    {{"memory.slow_norm", kMemory, 0.5, 0.3},
     [](const Facts& f) { return f.traits.slow_norm; }},
    {{"memory.slow_norm.nhwc", kMemory, 0.5, 0.4},
     [](const Facts& f) { return f.traits.slow_norm * f.nhwc; }},
    {{"memory.irregular", kMemory, 0.2, 0.2},
     [](const Facts& f) { return f.traits.irregular; }},
    {{"memory.irregular.nhwc", kMemory, 0.2, 0.2},
     [](const Facts& f) { return f.traits.irregular * f.nhwc; }},
    {{"memory.standardised", kMemory, 0, 0.2},
     [](const Facts& f) { return f.traits.standardised; }},
    {{"memory.antialias", kMemory, 0.1, 0.15},
     [](const Facts& f) { return f.traits.antialias; }},
    {{"memory.windows", kMemory, 0.4, 0.3},
     [](const Facts& f) { return f.traits.windows; }},
    {{"memory.split", kMemory, 0.3, 0.2},
     [](const Facts& f) { return f.traits.split; }},
    {{"memory.branches", kMemory, 0.2, 0.2},
     [](const Facts& f) { return f.traits.branches; }},
    {{"memory.concatenated", kMemory, 0.3, 0.2},
     [](const Facts& f) { return f.traits.concatenated; }},
    {{"memory.no_norm", kMemory, -0.5, 0.15},
     [](const Facts& f) { return f.traits.no_norm; }},
    {{"memory.large_kernel", kMemory, 0.2, 0.3},
     [](const Facts& f) { return f.traits.large_kernel; }},
    {{"memory.no_activations", kMemory, 0, 0.5},
     [](const Facts& f) { return f.no_activations; }},
    {{"overhead", kOverhead, 0.5, 0.6}, [](const Facts&) { return 1.0; }},
    {{"overhead.layers", kOverhead, 1.0, 0.07},
     [](const Facts& f) { return f.log_layers; }},
    {{"overhead.depthwise", kOverhead, 0.3, 0.3},
     [](const Facts& f) { return f.traits.depthwise; }},
    {{"overhead.attention", kOverhead, 0, 0.4},
     [](const Facts& f) { return f.traits.attention; }},
    {{"overhead.tensorflow", kOverhead, 0, 0.4},
     [](const Facts& f) { return f.tensorflow; }},
    {{"overhead.compiled", kOverhead, -0.3, 0.4},
     [](const Facts& f) { return f.compiled; }},
    {{"overhead.plain", kOverhead, -0.7, 0.3},
     [](const Facts& f) { return f.traits.no_norm; }},
    {{"parameters", kParameters, 0, 0.4}, [](const Facts&) { return 1.0; }},
    {{"parameters.no_optimizer", kParameters, -0.7, 0.3},
     [](const Facts& f) { return f.no_optimizer; }},
    {{"parameters.standardised", kParameters, 0.7, 0.4},
     [](const Facts& f) { return f.traits.standardised; }},
};

// Replace unknown costs of a sample; the effect of the task's level learns
// their error.
constexpr double kGuessedGflops = 1;
constexpr double kGuessedActivationsPerGflop = 1.9;  // millions
constexpr double kGuessedParamsM = 25;
constexpr double kGuessedBatch = 64;

Facts facts_of(const DescribedJob& described) {
  const JobFeatures& job = described.job;
  Facts f{};
  f.traits = traits_of(job.model);
  f.half = job.precision == Precision::kHalf;
  f.tf32 = job.precision == Precision::kTf32 &&
           described.gpu.tensor_units(Precision::kTf32);
  f.fp32 = f.half == 0 && f.tf32 == 0;
  f.tensor = f.half != 0 && described.gpu.tensor_units(Precision::kHalf);
  const bool tensorflow = job.software.framework == "tensorflow";
  f.tensorflow = tensorflow;
  // TensorFlow and MXNet choose the layout that tensor units prefer.
  f.nhwc = job.software.layout == "nhwc" ||
           (job.software.framework != "pytorch" && f.half != 0);
  f.compiled = job.software.compiled;
  f.no_optimizer = job.software.no_optimizer;
  f.no_activations = job.activations_m == 0;
  f.log_layers = std::log(f.traits.layers / kTypicalLayers);
  return f;
}

}  // namespace

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
    for (const Learned& it : kLearned) out.coefficients.push_back(it.prior);
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
  const Facts facts = facts_of(described);
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
  for (const Learned& it : kLearned) out.features.push_back(it.feature(facts));

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
