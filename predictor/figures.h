// Arithmetic on figures with intervals. Internal to predictor/.
#pragma once

#include "predictor/predictor.h"

namespace penstock {

// The product of two figures that are not negative; unknown where one is.
Figure product(const Figure& a, const Figure& b);

// Estimates a ratio of sums, sum(cost) / sum(count), from pairs: jitter that
// moves cost or count from one pair to the next cancels in the sums, as it
// would not in a mean of ratios.
class RatioEstimate {
 public:
  // REQUIRES: cost >= 0, count >= 0, both finite.
  void add(double cost, double count);

  double costs() const { return costs_; }
  double counts() const { return counts_; }

  // The ratio with its 95% interval: Student's t over the spread of the
  // pairs about the ratio, and never narrower than one count in all.
  // Unknown where counts() is under 1 or there is only one pair.
  Figure ratio() const;

 private:
  int pairs_ = 0;
  double costs_ = 0;
  double counts_ = 0;
  // Sums of squares and products, from which the residuals' follow.
  double cost_cost_ = 0;
  double cost_count_ = 0;
  double count_count_ = 0;
};

}  // namespace penstock
