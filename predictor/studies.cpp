#include "predictor/studies.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "predictor/exchange.h"
#include "predictor/quantiles.h"

namespace penstock {
namespace {

constexpr double kNormal95 = 1.645;

void add_row(double error, const LogInterval& interval, StudyScore& score,
             double weight = 1) {
  score.errors.push_back(std::abs(std::exp(-error) - 1));
  score.widths.push_back(std::exp(interval.high - interval.low));
  score.weight += weight;
  if (error >= interval.low && error <= interval.high) score.covered += weight;
}

double median_of_medians(
    const std::map<std::string, std::vector<double>>& by_family) {
  std::vector<double> medians;
  medians.reserve(by_family.size());
  for (const auto& [family, errors] : by_family) {
    medians.push_back(quantile(errors, 0.5));
  }
  return medians.empty() ? 0 : quantile(std::move(medians), 0.5);
}

// The rows of a study (in) and their groups (sort). A row's interval comes from
// the errors of the same sort in other folds.
struct Sorts {
  std::function<bool(size_t row)> in;
  std::function<std::string(size_t row)> sort = [](size_t) { return ""; };
};

// Interval for a fold's rows of one sort, from the other folds' rows of this
// sort; nullopt if there are none.
std::optional<LogInterval> interval_without(const LeftOut& left,
                                            const std::string& fold,
                                            const std::string& sort,
                                            const Sorts& sorts) {
  std::vector<double> others;
  for (size_t i = 0; i < left.rows.size(); ++i) {
    if (left.folds[i] != fold && sorts.in(left.rows[i]) &&
        sorts.sort(left.rows[i]) == sort) {
      others.push_back(left.errors[i]);
    }
  }
  if (others.empty()) return std::nullopt;
  return ninety_percent(others);
}

StudyScore score_folds(
    const std::string& name, const LeftOut& left, const Sorts& sorts,
    const std::function<std::optional<LogInterval>(size_t row)>& otherwise =
        [](size_t) { return std::nullopt; }) {
  StudyScore score;
  score.name = name;
  std::map<std::pair<std::string, std::string>, std::optional<LogInterval>>
      intervals;
  std::map<std::string, std::vector<double>> by_fold;
  for (size_t i = 0; i < left.rows.size(); ++i) {
    const size_t row = left.rows[i];
    if (!sorts.in(row)) continue;
    const std::pair key(left.folds[i], sorts.sort(row));
    auto found = intervals.find(key);
    if (found == intervals.end()) {
      found = intervals
                  .emplace(key,
                           interval_without(left, key.first, key.second, sorts))
                  .first;
    }
    std::optional<LogInterval> interval = otherwise(row);
    if (!interval) interval = found->second;
    if (!interval) continue;
    add_row(left.errors[i], *interval, score);
    by_fold[left.folds[i]].push_back(score.errors.back());
  }
  score.median_of_families = median_of_medians(by_fold);
  return score;
}

// GPU types of each family. A family of a single type is new if this type is
// left out.
std::map<std::string, std::set<std::string>> gpus_of_families(
    const std::vector<MeasuredRow>& rows) {
  std::map<std::string, std::set<std::string>> out;
  for (const MeasuredRow& row : rows) {
    if (row.job.gpus == 1) out[row.job.family].insert(row.job.gpu);
  }
  return out;
}

StudyScore score_gpus(const std::vector<MeasuredRow>& rows,
                      const Calibration& calibration) {
  const auto gpus = gpus_of_families(rows);
  const auto new_too = [&](size_t row) {
    return gpus.at(rows[row].job.family).size() == 1;
  };
  Sorts sorts{[&](size_t row) { return costs_given(rows[row]); },
              [&](size_t row) { return new_too(row) ? "both" : "gpu"; }};
  const Sorts of_families{sorts.in};
  std::map<std::string, std::optional<LogInterval>> of_family;
  const auto otherwise = [&](size_t row) -> std::optional<LogInterval> {
    if (!new_too(row)) return std::nullopt;
    const std::string& family = rows[row].job.family;
    auto found = of_family.find(family);
    if (found == of_family.end()) {
      found = of_family
                  .emplace(family, interval_without(calibration.by_family,
                                                    family, "", of_families))
                  .first;
    }
    return found->second;
  };
  // With one GPU type, leaving it out leaves nothing to learn from.
  if (calibration.by_gpu.parameters.size() < 2) return {};
  return score_folds("gpu", calibration.by_gpu, sorts, otherwise);
}

double log_sd(const LogInterval& interval) {
  return std::max(0.05, (interval.high - interval.low) / 2 / kNormal95);
}

StudyScore two_point_score(
    const std::string& name, const std::vector<TwoPointError>& errors,
    bool nearest_only,
    const std::function<LogInterval(const std::string& family)>& scale) {
  StudyScore score;
  score.name = name;
  std::map<size_t, int> nearest_of_row;
  for (const TwoPointError& it : errors) nearest_of_row[it.row] += it.nearest;
  std::map<std::string, LogInterval> scales;
  for (const TwoPointError& it : errors) {
    if (nearest_only && !it.nearest) continue;
    const double weight =
        nearest_only ? 1.0 / nearest_of_row[it.row] : it.weight;
    auto ends = scales.find(it.family);
    if (ends == scales.end()) {
      ends = scales.emplace(it.family, scale(it.family)).first;
    }
    add_row(it.error,
            {ends->second.low * it.log_sd, ends->second.high * it.log_sd},
            score, weight);
    score.weights.push_back(weight);
  }
  return score;
}

StudyScore without_interval(const std::string& name,
                            const std::vector<TwoPointError>& errors) {
  StudyScore score;
  score.name = name;
  for (const TwoPointError& it : errors) {
    add_row(it.error, LogInterval{}, score);
  }
  score.weight = 0;  // no interval is claimed
  return score;
}

// Compares rows that differ only in software, host or run with their median.
StudyScore repeats(const std::vector<MeasuredRow>& rows) {
  std::map<std::string, std::vector<double>> same;
  for (const MeasuredRow& row : rows) {
    if (row.job.gpus != 1 || !costs_given(row)) continue;
    same[row.job.model + "|" + row.job.gpu + "|" +
         precision_name(row.job.precision) + "|" +
         std::to_string(row.job.batch_per_gpu) + "|" +
         std::to_string(row.job.fwd_gflops_per_sample)]
        .push_back(row.samples_per_s);
  }
  StudyScore score;
  score.name = "repeats";
  for (const auto& [key, rates] : same) {
    if (rates.size() < 2) continue;
    const double middle = quantile(rates, 0.5);
    for (double rate : rates) add_row(std::log(rate / middle), {0, 0}, score);
  }
  score.weight = 0;  // no interval is claimed
  return score;
}

void drop_empty(std::vector<StudyScore>& scores) {
  std::erase_if(scores, [](const StudyScore& it) { return it.errors.empty(); });
}

}  // namespace

double StudyScore::error_at(double part) const {
  return weighted_quantile(errors, weights, part);
}

double StudyScore::width() const {
  return weighted_quantile(widths, weights, 0.5);
}

std::vector<StudyScore> score_left_out(const std::vector<MeasuredRow>& rows,
                                       const Calibration& calibration) {
  const auto given = [&](size_t row) { return costs_given(rows[row]); };
  const auto not_given = [&](size_t row) { return !costs_given(rows[row]); };
  const auto all = [](size_t) { return true; };
  const auto costs_of = [&](size_t row) -> std::string {
    return costs_name(describe(rows[row].job).costs);
  };
  std::vector<StudyScore> out = {
      score_folds("family", calibration.by_family, {given}),
      score_folds("no_flops", calibration.by_family, {not_given, costs_of}),
      score_gpus(rows, calibration),
      score_folds("one_node", calibration.one_node, {all}),
      score_folds("many_nodes", calibration.many_nodes, {all})};
  const auto of_one = [&](const std::string& family) {
    return two_point_scale(calibration.two_points, family);
  };
  const auto of_many = [&](const std::string& family) {
    return two_point_scale(calibration.two_points_many, family);
  };
  out.push_back(
      two_point_score("two_points", calibration.two_points, false, of_one));
  out.push_back(two_point_score("two_points_nearest", calibration.two_points,
                                true, of_one));
  out.push_back(without_interval("affine", calibration.affine));
  out.push_back(two_point_score("two_points_many", calibration.two_points_many,
                                false, of_many));
  out.push_back(repeats(rows));
  drop_empty(out);
  return out;
}

namespace {

// The study of a one-GPU row, according to its novelty.
std::string arrival_study(const MeasuredRow& row, const std::string& kind) {
  if (!costs_given(row)) return "no_flops";
  const std::string how = kind.substr(kind.find('/') + 1);
  return how == "new_family" ? "family"
         : how == "new_gpu"  ? "gpu"
         : how == "new_both" ? "both"
                             : "known";
}

void add_arrivals(const std::vector<MeasuredRow>& rows,
                  const ArrivalParameters& parameters,
                  std::vector<StudyScore>& out) {
  std::map<std::string, StudyScore> scores;
  std::map<std::string, std::map<std::string, std::vector<double>>> families;
  for (const MeasuredRow& row : rows) {
    if (row.job.gpus > 1) continue;
    const DescribedJob described = describe(row.job);
    const std::string kind = kind_of(described, parameters);
    const std::string study = arrival_study(row, kind);
    const double seconds =
        one_gpu_time(described, parameters.roofline).at(described.batch);
    add_row(std::log(row.samples_per_s * seconds / described.batch),
            interval_of(parameters, kind), scores[study]);
    families[study][described.job.family].push_back(
        scores[study].errors.back());
  }
  for (const char* name : {"family", "no_flops", "gpu", "both", "known"}) {
    scores[name].name = name;
    scores[name].median_of_families = median_of_medians(families[name]);
    out.push_back(std::move(scores[name]));
  }
}

void add_exchanges(const std::vector<MeasuredRow>& rows,
                   const ArrivalParameters& parameters,
                   std::vector<StudyScore>& out) {
  StudyScore one_node, many_nodes;
  one_node.name = "one_node";
  many_nodes.name = "many_nodes";
  const std::vector<double> one_gpu = known_one_gpu_rates(rows);
  for (size_t i = 0; i < rows.size(); ++i) {
    if (one_gpu[i] == 0) continue;
    const bool many = rows[i].job.nodes > 1;
    const DescribedJob described = describe(rows[i].job);
    const double seconds =
        several_gpus_s(described, described.batch / one_gpu[i],
                       many ? parameters.many_nodes : parameters.one_node);
    add_row(std::log(rows[i].samples_per_s * seconds /
                     (described.batch * rows[i].job.gpus)),
            interval_of(parameters, many ? "many_nodes" : "one_node"),
            many ? many_nodes : one_node);
  }
  out.push_back(std::move(one_node));
  out.push_back(std::move(many_nodes));
}

void add_two_points(const std::vector<MeasuredRow>& rows,
                    const ArrivalParameters& parameters,
                    std::vector<StudyScore>& out) {
  const auto prior = [&](const MeasuredRow& row) {
    const DescribedJob described = describe(row.job);
    return PriorTime{
        job_time(
            described, parameters.roofline,
            row.job.nodes > 1 ? parameters.many_nodes : parameters.one_node),
        log_sd(interval_of(parameters, kind_of(described, parameters)))};
  };
  const auto one = two_point_errors(rows, false, prior);
  const auto several = two_point_errors(rows, true, prior);
  const auto of_one = [&](const std::string&) {
    return interval_of(parameters, "two_points");
  };
  const auto of_many = [&](const std::string&) {
    return interval_of(parameters, "two_points_many");
  };
  out.push_back(two_point_score("two_points", one, false, of_one));
  out.push_back(two_point_score("two_points_nearest", one, true, of_one));
  out.push_back(without_interval("affine", affine_residuals(rows, prior)));
  out.push_back(two_point_score("two_points_many", several, false, of_many));
}

}  // namespace

std::vector<StudyScore> score_new_rows(const std::vector<MeasuredRow>& rows,
                                       const ArrivalParameters& parameters) {
  std::vector<StudyScore> out;
  add_arrivals(rows, parameters, out);
  add_exchanges(rows, parameters, out);
  add_two_points(rows, parameters, out);
  out.push_back(repeats(rows));
  drop_empty(out);
  return out;
}

}  // namespace penstock
