#include "predictor/calibration.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "predictor/exchange.h"
#include "predictor/log_sum_fit.h"
#include "predictor/quantiles.h"

namespace penstock {
namespace {

// One-GPU rows: noise of a row, and the error shared by rows of one model and
// software; larger if the row lacks a sample's costs.
constexpr double kNoiseSd = 0.12, kModelSd = 0.12;
constexpr double kNoiseSdUngiven = 0.25, kModelSdUngiven = 0.3;
// Rows with several GPUs, in one node and on several nodes.
constexpr double kOneNodeSd = 0.08, kOneNodeModelSd = 0.12;
constexpr double kManyNodesSd = 0.3, kManyNodesModelSd = 0.3;
constexpr size_t kModelFolds = 10;
// Cut off at either end. Errors within a family are correlated, so ends at 5%
// contain fewer than 90% of a new family's rows: 87%, measured.
constexpr double kTail = 0.04;
// Deviation of a prediction learned from other families, before any point.
constexpr double kPriorSd = 0.35, kPriorSdUngiven = 1.0;

// Rows for a fit, with their indices in the table.
struct Study {
  std::vector<size_t> places;
  std::vector<LogSumRow> rows;
};

Study one_gpu_study(const std::vector<MeasuredRow>& rows) {
  Study out;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].job.gpus != 1) continue;
    const DescribedJob described = describe(rows[i].job);
    const bool given =
        described.costs == Costs::kGiven && rows[i].job.batch_per_gpu > 0;
    LogSumRow row;
    row.input = roofline_input(described);
    row.log_y = -std::log(rows[i].samples_per_s);
    row.noise_sd = given ? kNoiseSd : kNoiseSdUngiven;
    row.group = model_level(described);
    row.group_sd = given ? kModelSd : kModelSdUngiven;
    out.places.push_back(i);
    out.rows.push_back(std::move(row));
  }
  return out;
}

Study exchange_study(const std::vector<MeasuredRow>& rows, bool many_nodes) {
  Study out;
  const std::vector<double> one_gpu = known_one_gpu_rates(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    const JobFeatures& job = rows[i].job;
    if (one_gpu[i] == 0 || (job.nodes > 1) != many_nodes) continue;
    const DescribedJob described = describe(job);
    LogSumRow row;
    row.input = exchange_input(described, described.batch / one_gpu[i]);
    row.log_y = std::log(described.batch * job.gpus / rows[i].samples_per_s);
    row.noise_sd = many_nodes ? kManyNodesSd : kOneNodeSd;
    row.group = model_level(described);
    row.group_sd = many_nodes ? kManyNodesModelSd : kOneNodeModelSd;
    out.places.push_back(i);
    out.rows.push_back(std::move(row));
  }
  return out;
}

double log_time(const LogSumForm& form, const LogSumRow& row,
                const LogSumParameters& parameters) {
  return log_sum(form, log_terms(form, row.input, parameters));
}

// Leaves out one fold after the other.
LeftOut leave_out(const LogSumForm& form, const Study& study,
                  const std::vector<std::string>& folds,
                  const LogSumParameters& all,
                  const std::function<void()>& fitted) {
  LeftOut out;
  out.rows = study.places;
  out.folds = folds;
  out.errors.resize(study.rows.size());
  const LogSumFit fit(form, study.rows);
  for (const std::string& fold : std::set(folds.begin(), folds.end())) {
    std::vector<bool> use(study.rows.size());
    for (size_t i = 0; i < use.size(); ++i) use[i] = folds[i] != fold;
    const LogSumParameters learned = fit.fit(use, &all);
    for (size_t i = 0; i < use.size(); ++i) {
      if (use[i]) continue;
      out.errors[i] =
          log_time(form, study.rows[i], learned) - study.rows[i].log_y;
    }
    out.parameters[fold] = learned;
    fitted();
  }
  return out;
}

std::vector<std::string> folds_by(
    const std::vector<MeasuredRow>& rows, const Study& study,
    const std::function<std::string(const DescribedJob&)>& fold_of) {
  std::vector<std::string> out;
  for (size_t place : study.places) {
    out.push_back(fold_of(describe(rows[place].job)));
  }
  return out;
}

std::string family_of(const DescribedJob& described) {
  return described.job.family;
}

// A variant of FNV-1a: the same on every machine, unlike std::hash.
std::string model_fold(const DescribedJob& described) {
  uint64_t hash = 1469598103934665603u;
  for (char c : described.job.model) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  return std::to_string(hash % kModelFolds);
}

void add_intervals(const std::vector<MeasuredRow>& rows, const LeftOut& left,
                   const std::string& how,
                   std::map<std::string, LogInterval>& out) {
  std::map<std::string, std::vector<double>> errors;
  for (size_t i = 0; i < left.rows.size(); ++i) {
    errors[costs_name(describe(rows[left.rows[i]].job).costs)].push_back(
        left.errors[i]);
  }
  for (const auto& [costs, values] : errors) {
    std::string kind = costs;
    kind.append("/").append(how);
    out[kind] = ninety_percent(values);
  }
}

// A new family on a new GPU type gets the wider of the two intervals.
void add_both(std::map<std::string, LogInterval>& intervals) {
  for (const char* costs : {"given", "listed", "guessed"}) {
    const auto family = intervals.find(std::string(costs) + "/new_family");
    const auto gpu = intervals.find(std::string(costs) + "/new_gpu");
    if (family == intervals.end() || gpu == intervals.end()) continue;
    intervals[std::string(costs) + "/new_both"] = {
        std::min(family->second.low, gpu->second.low),
        std::max(family->second.high, gpu->second.high)};
  }
}

const LogSumParameters& fold_or(const LeftOut& left, const std::string& fold,
                                const LogSumParameters& all) {
  const auto found = left.parameters.find(fold);
  return found == left.parameters.end() ? all : found->second;
}

// The prior of each row is learned from other families only.
void add_two_points(const std::vector<MeasuredRow>& rows, Calibration& out) {
  const auto prior = [&](const MeasuredRow& row) {
    const DescribedJob described = describe(row.job);
    const std::string& family = described.job.family;
    const bool many = row.job.nodes > 1;
    return PriorTime{
        job_time(described,
                 fold_or(out.by_family, family, out.parameters.roofline),
                 fold_or(many ? out.many_nodes : out.one_node, family,
                         many ? out.parameters.many_nodes
                              : out.parameters.one_node)),
        costs_given(row) ? kPriorSd : kPriorSdUngiven};
  };
  out.affine = affine_residuals(rows, prior);
  out.two_points = two_point_errors(rows, false, prior);
  out.two_points_many = two_point_errors(rows, true, prior);
  auto& intervals = out.parameters.intervals;
  if (!out.two_points.empty()) {
    intervals["two_points"] = two_point_scale(out.two_points, "");
  }
  if (!out.two_points_many.empty()) {
    intervals["two_points_many"] = two_point_scale(out.two_points_many, "");
  }
}

size_t count(const std::vector<std::string>& folds) {
  return std::set(folds.begin(), folds.end()).size();
}

}  // namespace

bool costs_given(const MeasuredRow& row) {
  return row.job.fwd_gflops_per_sample > 0;
}

LogInterval ninety_percent(const std::vector<double>& errors) {
  return {quantile(errors, kTail), quantile(errors, 1 - kTail)};
}

std::vector<double> known_one_gpu_rates(const std::vector<MeasuredRow>& rows) {
  std::map<std::pair<std::string, double>, std::vector<double>> one;
  const auto key = [](const MeasuredRow& row) {
    return std::pair(row.same_but_scale, row.job.batch_per_gpu);
  };
  for (const MeasuredRow& row : rows) {
    if (row.job.gpus == 1) one[key(row)].push_back(row.samples_per_s);
  }
  std::vector<double> out(rows.size(), 0);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].job.gpus == 1) continue;
    const auto found = one.find(key(rows[i]));
    if (found != one.end()) out[i] = quantile(found->second, 0.5);
  }
  return out;
}

Calibration calibrate(const std::vector<MeasuredRow>& rows,
                      const Progress& progress) {
  Calibration out;
  const Study one_gpu = one_gpu_study(rows);
  const Study one_node = exchange_study(rows, false);
  const Study many_nodes = exchange_study(rows, true);
  const auto families = folds_by(rows, one_gpu, family_of);
  const auto gpus = folds_by(
      rows, one_gpu, [](const DescribedJob& it) { return it.gpu.name; });
  const auto models = folds_by(rows, one_gpu, model_fold);
  const auto node_families = folds_by(rows, one_node, family_of);
  const auto nodes_families = folds_by(rows, many_nodes, family_of);
  const size_t total = 3 + count(families) + count(gpus) + count(models) +
                       count(node_families) + count(nodes_families);
  size_t done = 0;
  const auto fitted = [&] { progress(++done, total); };
  const auto fit_all = [&](const LogSumForm& form, const Study& study) {
    const LogSumFit fit(form, study.rows);
    LogSumParameters all = fit.fit(std::vector<bool>(study.rows.size(), true));
    fitted();
    return all;
  };
  ArrivalParameters& learned = out.parameters;
  learned.roofline = fit_all(roofline_form(), one_gpu);
  learned.one_node = fit_all(exchange_form(), one_node);
  learned.many_nodes = fit_all(exchange_form(), many_nodes);
  out.by_family =
      leave_out(roofline_form(), one_gpu, families, learned.roofline, fitted);
  out.by_gpu =
      leave_out(roofline_form(), one_gpu, gpus, learned.roofline, fitted);
  out.by_model =
      leave_out(roofline_form(), one_gpu, models, learned.roofline, fitted);
  out.one_node = leave_out(exchange_form(), one_node, node_families,
                           learned.one_node, fitted);
  out.many_nodes = leave_out(exchange_form(), many_nodes, nodes_families,
                             learned.many_nodes, fitted);

  add_intervals(rows, out.by_family, "new_family", learned.intervals);
  add_intervals(rows, out.by_gpu, "new_gpu", learned.intervals);
  add_intervals(rows, out.by_model, "known", learned.intervals);
  add_both(learned.intervals);
  if (!out.one_node.errors.empty()) {
    learned.intervals["one_node"] = ninety_percent(out.one_node.errors);
  }
  if (!out.many_nodes.errors.empty()) {
    learned.intervals["many_nodes"] = ninety_percent(out.many_nodes.errors);
  }
  add_two_points(rows, out);
  return out;
}

}  // namespace penstock
