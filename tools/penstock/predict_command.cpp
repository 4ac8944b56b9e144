// `penstock predict`.
#include "predictor/predictor.h"
#include "predictor/rate_curve.h"
#include "select_ext/allocator/curve.h"
#include "tools/penstock/command_options.h"
#include "tools/penstock/commands.h"
#include "tools/penstock/named_profile.h"
#include "tools/penstock/predict.h"

namespace penstock {
namespace {

// Fills in the facts that penstockd knows when such a job starts.
void fill_in(const DescribeArguments& given, const Config& config,
             Profile& profile) {
  if (!profile.describes_job()) return;
  JobFeatures& job = profile.job;
  if (!given.gpu.empty()) job.gpu = given.gpu;
  if (job.gpu.empty()) job.gpu = config.gpu_type;
  if (given.batch_per_gpu > 0) job.batch_per_gpu = given.batch_per_gpu;
  job.gpus = std::max(given.gpus, job.nodes);
}

Result<allocator::Curve> cores_curve(const Profile& profile,
                                     const Prediction& prediction) {
  if (profile.rate_at_cores.empty()) {
    return allocator::Curve{{1.0, prediction.loader_cpu_s_per_sample.value}};
  }
  std::vector<allocator::MeasuredPoint> points;
  for (const RatePoint& it : rate_curve(profile)) {
    points.push_back({it.cores, it.samples_per_s});
  }
  return allocator::concave_hull(points);
}

// All figures are per rank, because the job of a profile may have any number.
Status run_predict_profile(const PredictArguments& arguments,
                           const Config& config, Terminal& terminal) {
  Result<Limits> limits = given_limits(arguments);
  if (!limits) return std::move(limits).error();
  Result<Profile> profile = find_profile(arguments.profile, config);
  if (!profile) return std::move(profile).error();
  fill_in(arguments.job, config, *profile);
  Result<Prediction> prediction = predict(*profile);
  if (!prediction) return std::move(prediction).error().wrap(profile->name);
  Result<allocator::Curve> curve = cores_curve(*profile, *prediction);
  if (!curve) return std::move(curve).error();
  PredictAnswer answer{*prediction, *curve, *limits, 1, {}};
  const int64_t ranks =
      profile->describes_job() ? profile->job.gpus : profile->ranks_in_all();
  Result<std::optional<AskedExchange>> asked =
      asked_exchange(exchange_arguments(arguments), profile->job, ranks);
  if (!asked) return std::move(asked).error();
  if (*asked) {
    Result<DensityAnswer> densities = densities_of(**asked, *profile);
    if (!densities) return std::move(densities).error();
    answer.densities = *std::move(densities);
  }
  print_prediction(answer, arguments.json, terminal);
  return Done{};
}

Status run_predict(const PredictArguments& arguments, const Config& config,
                   Terminal& terminal) {
  if (arguments.list_models) {
    list_models(terminal);
    return Done{};
  }
  if (arguments.list_gpus) {
    list_gpus(terminal);
    return Done{};
  }
  const PredictTables& tables = arguments.tables;
  if (!tables.calibrate.empty() || !tables.evaluate.empty()) {
    return run_predict_tables(tables, terminal);
  }
  if (!arguments.job.model.empty()) {
    return run_predict_job(arguments, terminal);
  }
  if (arguments.profile.empty()) {
    return invalid(
        "predict needs a PROFILE, --model NAME, --calibrate FILE or "
        "--evaluate FILE");
  }
  return run_predict_profile(arguments, config, terminal);
}

// --json takes a file name only with --evaluate. Otherwise the next word is the
// profile.
Status run_chosen(const CLI::App& command, PredictArguments it,
                  Terminal& terminal) {
  const Result<Config> config = site_config(it.site);
  if (!config) return config.error();
  it.json = command.count("--json") > 0;
  std::string& file = it.tables.json_file;
  if (!it.tables.evaluate.empty()) {
    if (it.json && file.empty()) {
      return invalid("--json: with --evaluate it needs a FILE");
    }
  } else if (!file.empty()) {
    if (!it.profile.empty() || !it.job.model.empty()) {
      return invalid("--json: takes a FILE with --evaluate only");
    }
    it.profile = std::move(file);
    file.clear();
  }
  return run_predict(it, *config, terminal);
}

void add_costs(CLI::App* command, DescribeArguments& it) {
  const CLI::Range positive(0.0, 1e9);
  command
      ->add_option("--gflops", it.fwd_gflops_per_sample,
                   "forward GFLOPs per sample, 2 x multiply-adds")
      ->check(positive);
  command->add_option("--params", it.params_m, "parameters, in millions")
      ->check(positive);
  command
      ->add_option("--activations", it.activations_m,
                   "layer outputs per sample, in millions")
      ->check(positive);
  command
      ->add_option("--peak-tflops", it.peak_tflops,
                   "peak TFLOP/s of a GPU type that --list-gpus lacks")
      ->check(positive);
  command
      ->add_option("--memory-bandwidth", it.memory_gbs,
                   "memory bandwidth of that GPU type, GB/s")
      ->check(positive);
}

void add_described_job(CLI::App* command, DescribeArguments& it) {
  command->add_option("--model", it.model,
                      "predict a job that trains this model");
  command->add_option("--gpu", it.gpu, "GPU type of that job");
  command->add_option("--gpus", it.gpus, "total number of GPUs")
      ->check(CLI::Range(1, 1000000));
  command->add_option("--nodes", it.nodes, "nodes")
      ->check(CLI::Range(1, 1000000));
  command->add_option("--batch", it.batch_per_gpu, "samples per GPU and step")
      ->check(CLI::Range(1.0, 1e9));
  command->add_option("--precision", it.precision_label,
                      "FP32, TF32, AMP, BF16, FP16 or FP8");
  command
      ->add_option("--framework", it.software.framework,
                   "pytorch, tensorflow, mxnet or paddle")
      ->check(CLI::IsMember({"pytorch", "tensorflow", "mxnet", "paddle"}));
  command
      ->add_option("--layout", it.software.layout,
                   "memory layout, nchw or nhwc")
      ->check(CLI::IsMember({"nchw", "nhwc"}));
  command->add_flag("--compiled", it.software.compiled,
                    "the job uses a graph compiler");
  command->add_option("--task", it.task, "task, such as image_classification");
  command->add_option("--family", it.family, "model family, such as resnet");
  add_costs(command, it);
  command->add_option("--interconnect", it.interconnect,
                      "bandwidth between nodes, such as 3G");
  command->add_option("--bytes-per-sample", it.bytes_per_sample,
                      "stored bytes of a sample, such as 110K");
  command->add_option("--cpu-class", it.cpu_class,
                      "preparation of a sample: raw or jpeg");
  command->add_option("--measured", it.measured,
                      "measured rate of the job, BATCH:RATE (repeatable)");
  command->add_option("--parameters", it.parameters,
                      "parameters from --calibrate [built-in]");
}

void add_tables(CLI::App* command, PredictTables& it) {
  command->add_option("--calibrate", it.calibrate,
                      "fit the parameters to a CSV table of measured rates");
  command->add_option("-o,--output", it.output,
                      "file for the fitted parameters [standard output]");
  command->add_option("--evaluate", it.evaluate,
                      "evaluate predictions on a CSV table: its rows that "
                      "--calibrate did not use, or by cross-validation");
}

}  // namespace

Run add_predict(CLI::App* command) {
  auto shared = std::make_shared<PredictArguments>();
  PredictArguments& it = *shared;
  command->add_option("PROFILE", it.profile,
                      "name of a profile, or path of a file (with a '/')");
  command->add_option("--cores", it.cores,
                      "predict the rate with this number of loader cores");
  command->add_option("--bandwidth", it.bandwidth,
                      "storage bandwidth for that prediction, such as 200M");
  add_described_job(command, it.job);
  add_density(command, it.density, it.exchange_costs);
  add_tables(command, it.tables);
  command->add_flag("--list-models", it.list_models,
                    "list the built-in models");
  command->add_flag("--list-gpus", it.list_gpus, "list the built-in GPU types");
  command
      ->add_option(
          "--json", it.tables.json_file,
          "print JSON; with --evaluate, write the figures to this file")
      ->expected(0, 1);
  add_site(command, it.site, false);
  return [command, shared](Invocation& invocation) {
    return run_chosen(*command, *shared, invocation.terminal);
  };
}

}  // namespace penstock
