// Arithmetic on figures with intervals. Internal to predictor/.
#pragma once

#include "predictor/predictor.h"

namespace penstock {

// The product of two non-negative figures; unknown if either is unknown.
Figure product(const Figure& a, const Figure& b);

// Estimates sum(cost) / sum(count) from pairs. Jitter that moves cost or count
// from one pair to the next cancels in the sums; in a mean of ratios it would
// not.
class RatioEstimate {
 public:
  // REQUIRES: cost >= 0, count >= 0, both finite.
  void add(double cost, double count);

  double costs() const { return costs_; }
  double counts() const { return counts_; }

  // The ratio with its 95% interval, from Student's t and the spread of the
  // pairs around the ratio. The half width is at least ratio / counts(), one
  // count. Unknown if counts() < 1 or there is only one pair.
  Figure ratio() const;

 private:
  int pairs_ = 0;
  double costs_ = 0;
  double counts_ = 0;
  // Sums of squares and products; the sum of squared residuals follows.
  double cost_cost_ = 0;
  double cost_count_ = 0;
  double count_count_ = 0;
};

}  // namespace penstock
