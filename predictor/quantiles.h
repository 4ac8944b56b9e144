// Quantiles of errors. Pure.
#pragma once

#include <vector>

namespace penstock {

// Below which this part of the values lies, between neighbours; they need not
// be sorted. REQUIRES: not empty.
double quantile(std::vector<double> values, double part);

// The least value that this part of the weight lies at or below. weights:
// empty where all are 1. REQUIRES: not empty.
double weighted_quantile(const std::vector<double>& values,
                         const std::vector<double>& weights, double part);

}  // namespace penstock
