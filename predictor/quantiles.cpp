#include "predictor/quantiles.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace penstock {

double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  const double place = part * (values.size() - 1);
  const size_t below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - below) * (values[above] - values[below]);
}

double weighted_quantile(const std::vector<double>& values,
                         const std::vector<double>& weights, double part) {
  std::vector<std::pair<double, double>> sorted;
  double total = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double weight = weights.empty() ? 1 : weights[i];
    sorted.emplace_back(values[i], weight);
    total += weight;
  }
  std::sort(sorted.begin(), sorted.end());
  double below = 0;
  for (const auto& [value, weight] : sorted) {
    below += weight;
    if (below >= part * total) return value;
  }
  return sorted.back().first;
}

}  // namespace penstock
