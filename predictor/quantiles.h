// Quantiles of errors. Pure.
#pragma once

#include <vector>

namespace penstock {

// The quantile at `part` (0 to 1), interpolated linearly. The values need not
// be sorted. REQUIRES: not empty.
double quantile(std::vector<double> values, double part);

// The least value such that at least `part` of the weight is at or below it.
// weights: empty means all 1. REQUIRES: not empty.
double weighted_quantile(const std::vector<double>& values,
                         const std::vector<double>& weights, double part);

}  // namespace penstock
