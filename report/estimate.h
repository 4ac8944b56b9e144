// A figure with uncertainty. Pure.
#pragma once

#include <cmath>

namespace penstock {

// A figure with its expected interval: low <= value <= high.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;

  static Estimate exact(double value) { return {value, value, value}; }
  friend bool operator==(const Estimate&, const Estimate&) = default;
};

// False for an infinite interval, which carries no information, and for NaN.
inline bool is_known(const Estimate& estimate) {
  return std::isfinite(estimate.value) && std::isfinite(estimate.low) &&
         std::isfinite(estimate.high);
}

}  // namespace penstock
