#include "bench/submit/paired.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "predictor/quantiles.h"

namespace penstock {
namespace {

constexpr double kNormal95 = 1.959964;

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

Interval scaled(double value, double low, double high, double by) {
  return {value / by, low / by, high / by};
}

}  // namespace

PairedDifference paired_difference(const std::vector<double>& with,
                                   const std::vector<double>& without) {
  std::vector<double> differences;
  for (size_t i = 0; i < with.size(); ++i)
    differences.push_back(with[i] - without[i]);
  const auto count = static_cast<double>(differences.size());

  const double mean = mean_of(differences);
  double squares = 0;
  for (const double it : differences) squares += (it - mean) * (it - mean);
  const double half = kNormal95 * std::sqrt(squares / (count - 1) / count);
  PairedDifference out;
  out.mean = scaled(mean, mean - half, mean + half, mean_of(without));

  // Rank positions from the normal approximation of the binomial distribution.
  std::sort(differences.begin(), differences.end());
  const double away = kNormal95 * std::sqrt(count) / 2;
  const auto low = static_cast<size_t>(std::floor(count / 2 - away));
  const auto high = static_cast<size_t>(std::ceil(count / 2 + away));
  out.median = scaled(quantile(differences, 0.5), differences[low],
                      differences[std::min(high, differences.size() - 1)],
                      quantile(without, 0.5));
  return out;
}

}  // namespace penstock
