#include "predictor/two_points.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace penstock {
namespace {

using Eigen::Matrix2d;
using Eigen::Vector2d;

// Deviations of the two parts of the predicted time, in addition to their
// common error.
constexpr double kFixedLogSd = 1.0;
constexpr double kSampleLogSd = 0.3;
// Noise of a measured time: between runs, and between batch sizes that suit
// kernels more or less.
constexpr double kNoiseLogSd = 0.05;
// Deviation of times from a + c x batch, per factor of e to the nearest point.
constexpr double kStrayLogSd = 0.15;
constexpr int kSteps = 30;

// Returns the log of the time at a batch; sets slope to its derivative by the
// two logarithms.
double log_time(const Vector2d& logs, double batch, Vector2d& slope) {
  const double fixed = std::exp(logs[0]);
  const double samples = batch * std::exp(logs[1]);
  slope = Vector2d(fixed, samples) / (fixed + samples);
  return std::log(fixed + samples);
}

}  // namespace

MeasuredIteration::MeasuredIteration(const IterationTime& prior,
                                     double prior_log_sd,
                                     const std::vector<MeasuredPoint>& points) {
  // A part predicted as 0 still needs a logarithm.
  const double least = 1e-4 * prior.at(1);
  const Vector2d mean(std::log(std::max(prior.fixed_s, least)),
                      std::log(std::max(prior.sample_s, least)));
  const double common = prior_log_sd * prior_log_sd;
  Matrix2d covariance;
  covariance << common + kFixedLogSd * kFixedLogSd, common, common,
      common + kSampleLogSd * kSampleLogSd;
  const Matrix2d prior_precision = covariance.inverse();
  constexpr double kPointPrecision = 1 / (kNoiseLogSd * kNoiseLogSd);

  Vector2d logs = mean;
  Matrix2d precision = prior_precision;
  for (int step = 0; step < kSteps; ++step) {
    precision = prior_precision;
    Vector2d gradient = prior_precision * (mean - logs);
    for (const MeasuredPoint& point : points) {
      Vector2d slope;
      const double left =
          std::log(point.iteration_s) - log_time(logs, point.batch, slope);
      precision += kPointPrecision * slope * slope.transpose();
      gradient += kPointPrecision * left * slope;
    }
    const Vector2d change = precision.ldlt().solve(gradient);
    logs += change.cwiseMax(-1.0).cwiseMin(1.0);
    if (change.cwiseAbs().maxCoeff() < 1e-6) break;
  }
  for (const MeasuredPoint& point : points) {
    log_batches_.push_back(std::log(point.batch));
  }
  const Matrix2d posterior = precision.inverse();
  log_fixed_ = logs[0];
  log_sample_ = logs[1];
  variance_fixed_ = posterior(0, 0);
  variance_sample_ = posterior(1, 1);
  covariance_ = posterior(0, 1);
}

TimeEstimate MeasuredIteration::at(double batch) const {
  Vector2d slope;
  const double log_s =
      log_time(Vector2d(log_fixed_, log_sample_), batch, slope);
  const double variance = slope[0] * slope[0] * variance_fixed_ +
                          slope[1] * slope[1] * variance_sample_ +
                          2 * slope[0] * slope[1] * covariance_;
  double distance = log_batches_.empty() ? 0 : INFINITY;
  for (double log_batch : log_batches_) {
    distance = std::min(distance, std::abs(std::log(batch) - log_batch));
  }
  const double stray = kStrayLogSd * distance;
  return {std::exp(log_s),
          std::sqrt(std::max(0.0, variance) + kNoiseLogSd * kNoiseLogSd +
                    stray * stray)};
}

}  // namespace penstock
