// Corrects the predicted time of an iteration by measured ones. Points at two
// batches separate the time per sample from the fixed time per iteration.
// docs/model.md, section "Prediction at arrival". Pure.
#pragma once

#include <vector>

#include "predictor/arrival.h"

namespace penstock {

struct MeasuredPoint {
  double batch = 0;        // per GPU, > 0
  double iteration_s = 0;  // > 0
};

// A time with its uncertainty: its logarithm is normal with deviation log_sd.
struct TimeEstimate {
  double seconds = 0;
  double log_sd = 0;
};

// A Bayesian update. The logarithms of the time's two parts are normal around
// the prediction, with a common error of deviation prior_log_sd; each point has
// noise. The estimate is the posterior mode. Its deviation is Laplace's, plus
// the noise, plus the deviation of times from a line in the batch, which grows
// with the distance to the nearest point.
class MeasuredIteration {
 public:
  // REQUIRES: prior's parts >= 0 with a sum > 0; prior_log_sd > 0.
  MeasuredIteration(const IterationTime& prior, double prior_log_sd,
                    const std::vector<MeasuredPoint>& points);

  TimeEstimate at(double batch) const;

 private:
  double log_fixed_ = 0, log_sample_ = 0;
  // Posterior of the two logarithms.
  double variance_fixed_ = 0, variance_sample_ = 0, covariance_ = 0;
  std::vector<double> log_batches_;  // of the points
};

}  // namespace penstock
