// `penstock predict --model`: predicts a described job at its arrival.
#include <fmt/format.h>

#include <cmath>
#include <ostream>

#include "common/units.h"
#include "predictor/arrival_parameters.h"
#include "predictor/model_table.h"
#include "predictor/two_points.h"
#include "tools/penstock/predict.h"
#include "tools/penstock/read_file.h"

namespace penstock {
namespace {

constexpr size_t kMaxParameterBytes = size_t{16} * 1024 * 1024;
constexpr double kMaxBytesPerSample = 1e15;
constexpr double kBytesPerGb = 1e9;
constexpr double kNormal95 = 1.645;

Result<JobFeatures> features_of(const DescribeArguments& it) {
  JobFeatures job = it;
  if (it.nodes > it.gpus) {
    return invalid("--nodes: must not be more than --gpus");
  }
  Result<Precision> precision = parse_precision(it.precision_label);
  if (!precision) return std::move(precision).error().wrap("--precision");
  job.precision = *precision;
  // The ceiling is the trainer's rate without a loader in its way. Measurements
  // with batches that stay on the GPU show exactly that.
  job.software.synthetic = true;
  if (!it.interconnect.empty()) {
    Result<uint64_t> rate = parse_rate_bytes_per_s(it.interconnect);
    if (!rate) return std::move(rate).error().wrap("--interconnect");
    job.network_gbs = static_cast<double>(*rate) / kBytesPerGb;
  }
  return job;
}

// A GPU missing from the table needs both peaks, or counts as a median one.
Result<GpuType> gpu_of(const DescribeArguments& it, Precision precision) {
  GpuLookup found = find_gpu(it.gpu);
  if ((it.peak_tflops > 0) != (it.memory_gbs > 0)) {
    return invalid("--peak-tflops and --memory-bandwidth go together");
  }
  if (it.peak_tflops > 0) {
    found.type.memory_gbs = it.memory_gbs;
    found.type.fp32_tflops = it.peak_tflops;
    found.type.tf32_tflops = precision == Precision::kTf32 ? it.peak_tflops : 0;
    found.type.half_tflops = precision == Precision::kHalf ? it.peak_tflops : 0;
  }
  return found.type;
}

Result<LoaderCosts> loader_costs(const DescribeArguments& it) {
  LoaderCosts out;
  if (!it.bytes_per_sample.empty()) {
    Result<uint64_t> bytes = parse_rate_bytes_per_s(it.bytes_per_sample);
    if (!bytes) return std::move(bytes).error().wrap("--bytes-per-sample");
    out.bytes_per_sample =
        std::min(static_cast<double>(*bytes), kMaxBytesPerSample);
    out.bytes_known = true;
  }
  if (it.cpu_class.empty()) return out;
  if (!out.bytes_known) {
    return invalid("--cpu-class: needs --bytes-per-sample");
  }
  Result<Figure> cost = loader_cpu_s(it.cpu_class, out.bytes_per_sample);
  if (!cost) return std::move(cost).error().wrap("--cpu-class");
  out.cpu_s_per_sample = *cost;
  return out;
}

Result<ArrivalParameters> parameters_of(const std::string& path) {
  if (path.empty()) return builtin_parameters();
  Result<std::string> text = read_file(path, kMaxParameterBytes);
  if (!text) return std::move(text).error();
  return parse_parameters(*text, path);
}

// Parses "256:1200.5": a batch per GPU and the total samples/s with it.
Result<std::vector<MeasuredPoint>> points_of(
    const std::vector<std::string>& texts, int gpus) {
  std::vector<MeasuredPoint> out;
  for (const std::string& text : texts) {
    const size_t colon = text.find(':');
    if (colon == text.npos) {
      return invalid("--measured: " + quoted(text) +
                     " must be BATCH:RATE, such as 256:1200");
    }
    Result<double> batch = parse_number(text.substr(0, colon), 1e-3, 1e9);
    if (!batch) return std::move(batch).error().wrap("--measured: the batch");
    Result<double> rate = parse_number(text.substr(colon + 1), 1e-9, 1e12);
    if (!rate) return std::move(rate).error().wrap("--measured: the rate");
    out.push_back({*batch, *batch * gpus / *rate});
  }
  return out;
}

// Replaces the ceiling by its correction with the measured points.
void correct(const DescribedJob& described, const ArrivalParameters& learned,
             const std::vector<MeasuredPoint>& points, Prediction& prediction) {
  const bool several = described.job.gpus > 1;
  const Figure& before = prediction.ceiling_samples_per_s;
  const MeasuredIteration measured(
      job_time(described, learned.roofline,
               described.job.nodes > 1 ? learned.many_nodes : learned.one_node),
      std::log(before.high / before.low) / 2 / kNormal95, points);
  const TimeEstimate estimate = measured.at(described.batch);
  LogInterval scale{-kNormal95, kNormal95};
  const auto found =
      learned.intervals.find(several ? "two_points_many" : "two_points");
  if (found != learned.intervals.end()) scale = found->second;
  const double rate = described.batch / estimate.seconds;
  prediction.ceiling_samples_per_s = {
      rate, rate * std::exp(std::min(0.0, scale.low) * estimate.log_sd),
      rate * std::exp(std::max(0.0, scale.high) * estimate.log_sd)};
  prediction.basis += fmt::format(", {} measured", points.size());
}

// Measured points of several GPUs already contain their exchange. Otherwise the
// computing time is that of the same job on one GPU.
Result<std::optional<DensityAnswer>> densities_asked(
    const PredictArguments& arguments, const JobFeatures& job,
    DescribedJob described, const ArrivalParameters& learned,
    const Prediction& prediction) {
  ExchangeArguments options = exchange_arguments(arguments);
  options.batch = described.batch;
  Result<std::optional<AskedExchange>> asked =
      asked_exchange(options, job, job.gpus);
  if (!asked) return std::move(asked).error();
  if (!*asked) return std::optional<DensityAnswer>();
  const bool measured = !arguments.job.measured.empty();
  described.job.gpus = described.job.nodes = 1;
  const Figure ceiling = measured ? prediction.ceiling_samples_per_s
                                  : rate_per_gpu(described, learned);
  Result<double> computing_s =
      compute_s((*asked)->exchange, ceiling.value, measured ? job.gpus : 1);
  if (!computing_s) return std::move(computing_s).error().wrap("--density");
  DensityAnswer out = densities_of(**asked, *computing_s, prediction);
  out.from_one_gpu = !measured;
  return std::optional(std::move(out));
}

}  // namespace

Status run_predict_job(const PredictArguments& arguments, Terminal& terminal) {
  const DescribeArguments& it = arguments.job;
  if (it.gpu.empty()) return invalid("--model: needs --gpu TYPE");
  Result<Limits> limits = given_limits(arguments);
  if (!limits) return std::move(limits).error();
  Result<JobFeatures> job = features_of(it);
  if (!job) return std::move(job).error();
  Result<GpuType> gpu = gpu_of(it, job->precision);
  if (!gpu) return std::move(gpu).error();
  Result<LoaderCosts> costs = loader_costs(it);
  if (!costs) return std::move(costs).error();
  Result<ArrivalParameters> learned = parameters_of(it.parameters);
  if (!learned) return std::move(learned).error();
  Result<std::vector<MeasuredPoint>> points = points_of(it.measured, it.gpus);
  if (!points) return std::move(points).error();

  const DescribedJob described = describe(*job, &*gpu);
  Prediction prediction = predict_arrival(described, *costs, *learned);
  if (!points->empty()) correct(described, *learned, *points, prediction);
  const double cpu_s = prediction.loader_cpu_s_per_sample.value;
  Result<std::optional<DensityAnswer>> densities =
      densities_asked(arguments, *job, described, *learned, prediction);
  if (!densities) return std::move(densities).error();
  print_prediction({prediction, {{1.0, cpu_s}}, *limits, it.gpus, *densities},
                   arguments.json, terminal);
  return Done{};
}

void list_models(Terminal& terminal) {
  terminal.out << fmt::format("{:<32}{:<22}{:>10}{:>10}{:>10}  {}\n", "model",
                              "task", "params M", "GFLOPs", "acts M", "source");
  for (const ModelCosts& it : model_table()) {
    terminal.out << fmt::format(
        "{:<32}{:<22}{:>10g}{:>10g}{:>10g}  {}\n", it.name, it.task,
        it.params_m, it.fwd_gflops_per_sample, it.activations_m, it.source);
  }
}

void list_gpus(Terminal& terminal) {
  terminal.out << fmt::format("{:<18}{:<14}{:>8}{:>8}{:>8}{:>8}  {}\n", "gpu",
                              "architecture", "FP32", "TF32", "half", "GB/s",
                              "source");
  for (const GpuType& it : gpu_types()) {
    terminal.out << fmt::format("{:<18}{:<14}{:>8g}{:>8g}{:>8g}{:>8g}  {}\n",
                                it.name, it.architecture, it.fp32_tflops,
                                it.tf32_tflops, it.half_tflops, it.memory_gbs,
                                it.source);
  }
}

}  // namespace penstock
