#include "predictor/two_point_errors.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "predictor/quantiles.h"

namespace penstock {
namespace {

constexpr double kNormal95 = 1.645;
// Pairs per row; of more pairs, every second, third, ... is used.
constexpr size_t kMostPairs = 40;

double iteration_s(const MeasuredRow& row) {
  return row.job.batch_per_gpu * row.job.gpus / row.samples_per_s;
}

double batch_of(const MeasuredRow& row) { return row.job.batch_per_gpu; }

// Rows of each job (by same_but_batch), sorted by batch; with repetitions.
using Jobs = std::map<std::string, std::vector<size_t>>;

Jobs jobs_of(const std::vector<MeasuredRow>& rows, bool several_gpus) {
  Jobs jobs;
  for (size_t i = 0; i < rows.size(); ++i) {
    if ((rows[i].job.gpus > 1) == several_gpus && batch_of(rows[i]) > 0) {
      jobs[rows[i].same_but_batch].push_back(i);
    }
  }
  for (auto& [key, job] : jobs) {
    std::stable_sort(job.begin(), job.end(), [&](size_t a, size_t b) {
      return batch_of(rows[a]) < batch_of(rows[b]);
    });
  }
  std::erase_if(jobs, [](const auto& it) { return it.second.size() < 3; });
  return jobs;
}

MeasuredPoint point_of(const MeasuredRow& row) {
  return {batch_of(row), iteration_s(row)};
}

// Whether `one` and `other` are the job's next smaller and next larger batches
// around `batch`.
bool are_nearest(const std::vector<MeasuredRow>& rows,
                 const std::vector<size_t>& job, double one, double batch,
                 double other) {
  if (!(one < batch && batch < other)) return false;
  return std::none_of(job.begin(), job.end(), [&](size_t row) {
    const double it = batch_of(rows[row]);
    return it != batch && it > one && it < other;
  });
}

// Predicts one row from its job's other rows. job: sorted by batch.
void predict_row(const std::vector<MeasuredRow>& rows,
                 const std::vector<size_t>& job, size_t target,
                 const PriorTime& prior, std::vector<TwoPointError>& out) {
  const double batch = batch_of(rows[target]);
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0; i < job.size(); ++i) {
    const double one = batch_of(rows[job[i]]);
    for (size_t k = i + 1; k < job.size(); ++k) {
      const double other = batch_of(rows[job[k]]);
      if (one != batch && other != batch && one != other) {
        pairs.emplace_back(job[i], job[k]);
      }
    }
  }
  const size_t first = out.size();
  const size_t stride = (pairs.size() + kMostPairs - 1) / kMostPairs;
  for (size_t p = 0; p < pairs.size(); ++p) {
    const MeasuredPoint one = point_of(rows[pairs[p].first]);
    const MeasuredPoint other = point_of(rows[pairs[p].second]);
    const bool nearest = are_nearest(rows, job, one.batch, batch, other.batch);
    if (!nearest && p % stride != 0) continue;
    const TimeEstimate estimate =
        MeasuredIteration(prior.time, prior.log_sd, {one, other}).at(batch);
    out.push_back({target, rows[target].job.family, 1.0,
                   std::log(estimate.seconds / iteration_s(rows[target])),
                   estimate.log_sd, nearest});
  }
  for (size_t i = first; i < out.size(); ++i) {
    out[i].weight = 1.0 / static_cast<double>(out.size() - first);
  }
}

}  // namespace

std::vector<TwoPointError> two_point_errors(
    const std::vector<MeasuredRow>& rows, bool several_gpus,
    const std::function<PriorTime(const MeasuredRow&)>& prior) {
  std::vector<TwoPointError> out;
  for (const auto& [key, job] : jobs_of(rows, several_gpus)) {
    for (size_t target : job) {
      predict_row(rows, job, target, prior(rows[target]), out);
    }
  }
  return out;
}

std::vector<TwoPointError> affine_residuals(
    const std::vector<MeasuredRow>& rows,
    const std::function<PriorTime(const MeasuredRow&)>& prior) {
  std::vector<TwoPointError> out;
  for (const auto& [key, job] : jobs_of(rows, false)) {
    std::vector<MeasuredPoint> points;
    for (size_t row : job) points.push_back(point_of(rows[row]));
    const PriorTime before = prior(rows[job.front()]);
    const MeasuredIteration fitted(before.time, before.log_sd, points);
    for (size_t row : job) {
      const TimeEstimate estimate = fitted.at(batch_of(rows[row]));
      out.push_back({row, rows[row].job.family, 1.0,
                     std::log(estimate.seconds / iteration_s(rows[row])),
                     estimate.log_sd, false});
    }
  }
  return out;
}

LogInterval two_point_scale(const std::vector<TwoPointError>& errors,
                            const std::string& without_family) {
  std::vector<double> scaled, weights;
  for (const TwoPointError& it : errors) {
    if (it.family == without_family) continue;
    scaled.push_back(it.error / it.log_sd);
    weights.push_back(it.weight);
  }
  if (scaled.empty()) return {-kNormal95, kNormal95};
  return {weighted_quantile(scaled, weights, 0.05),
          weighted_quantile(scaled, weights, 0.95)};
}

}  // namespace penstock
