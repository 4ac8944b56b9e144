// Corrects the predicted time of an iteration by measured ones, as points at
// two batches tell what a sample takes and what an iteration takes besides.
// docs/model.md, section "Prediction at arrival". Pure.
#pragma once

#include <vector>

#include "predictor/arrival.h"

namespace penstock {

struct MeasuredPoint {
  double batch = 0;        // per GPU, > 0
  double iteration_s = 0;  // > 0
};

// A time with its uncertainty: log of it is normal with this deviation.
struct TimeEstimate {
  double seconds = 0;
  double log_sd = 0;
};

// A Bayesian update: the logarithms of the two parts of the time are normal
// about the prediction, with prior_log_sd of error in common; each point adds
// its noise. The estimate is the mode, its deviation Laplace's and what times
// stray from a line between batches, more the farther the next point is.
class MeasuredIteration {
 public:
  // REQUIRES: prior's parts >= 0 with a sum > 0; prior_log_sd > 0.
  MeasuredIteration(const IterationTime& prior, double prior_log_sd,
                    const std::vector<MeasuredPoint>& points);

  TimeEstimate at(double batch) const;

 private:
  double log_fixed_ = 0, log_sample_ = 0;
  // Of the two logarithms.
  double variance_fixed_ = 0, variance_sample_ = 0, covariance_ = 0;
  std::vector<double> log_batches_;  // of the points
};

}  // namespace penstock
