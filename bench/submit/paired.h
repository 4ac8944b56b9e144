// Difference between two series measured in pairs. Pure.
#pragma once

#include <vector>

namespace penstock {

// A figure with its 95% interval.
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
};

// Statistics of with[i] - without[i], as a share of `without`.
struct PairedDifference {
  Interval mean;    // normal interval; share of the mean of `without`
  Interval median;  // by order statistics, for any distribution; share of the
                    // median of `without`
};

// REQUIRES: both have the same size, at least 30; without's values are over 0.
PairedDifference paired_difference(const std::vector<double>& with,
                                   const std::vector<double>& without);

}  // namespace penstock
