#include "predictor/predictor.h"
#include "predictor/rate_curve.h"
#include "select_ext/allocator/curve.h"
#include "tools/penstock/command.h"
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

}  // namespace

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

}  // namespace penstock
