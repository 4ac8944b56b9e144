#include "predictor/figures.h"

#include <algorithm>

namespace penstock {
namespace {

// 97.5th percentile of Student's t (Abramowitz and Stegun 26.7.5, three terms);
// error below 2% for two or more degrees of freedom.
double student_t(double freedom) {
  const double v = 1 / freedom;
  return 1.96 + v * (2.372 + v * (2.823 + v * 2.556));
}

}  // namespace

Figure product(const Figure& a, const Figure& b) {
  if (!a.known() || !b.known()) return {};
  return {a.value * b.value, a.low * b.low, a.high * b.high};
}

void RatioEstimate::add(double cost, double count) {
  if (cost == 0 && count == 0) return;
  ++pairs_;
  costs_ += cost;
  counts_ += count;
  cost_cost_ += cost * cost;
  cost_count_ += cost * count;
  count_count_ += count * count;
}

Figure RatioEstimate::ratio() const {
  if (counts_ < 1 || pairs_ < 2) return {};
  const double r = costs_ / counts_;
  // Sum of (cost - r x count)^2; rounding can make it slightly negative.
  const double residuals =
      std::max(0.0, cost_cost_ - 2 * r * cost_count_ + r * r * count_count_);
  const double freedom = pairs_ - 1;
  const double standard_error =
      std::sqrt(residuals * pairs_ / freedom) / counts_;
  const double half_width =
      std::max(student_t(freedom) * standard_error, r / counts_);
  return {r, std::max(0.0, r - half_width), r + half_width};
}

}  // namespace penstock
