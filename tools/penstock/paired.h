// How two series that were measured in pairs differ. Pure.
#pragma once

#include <vector>

namespace penstock {

// A figure with its 95% interval.
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
};

// Of the differences with[i] - without[i], as a share of what `without` has.
struct PairedDifference {
  Interval mean;    // normal interval; share of the mean of `without`
  Interval median;  // by order statistics, whatever the distribution; share of
                    // the median of `without`
};

// REQUIRES: both have the same size, at least 30; without's values are over 0.
PairedDifference paired_difference(const std::vector<double>& with,
                                   const std::vector<double>& without);

}  // namespace penstock
