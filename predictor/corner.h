// The smooth corner between two rates that limit a third. Near the point where
// both are equal, the third rate is lower than both: each of them varies, and
// the other waits for it. docs/model.md, section "What-if". Pure; thread-safe.
#pragma once

#include <vector>

#include "common/result.h"

namespace penstock {

// (a^-p + b^-p)^(-1/p): below min(a, b), closer to it with larger p, and equal
// to it with p infinite.
// REQUIRES: a, b >= 0, either may be infinite; exponent >= 1, may be infinite.
double corner(double a, double b, double exponent);

// The b for which corner(a, b, exponent) == rate; the least one if the exponent
// is infinite. Infinite if no b is enough.
// REQUIRES: a, rate > 0, a may be infinite; exponent as above.
double beyond_corner(double a, double rate, double exponent);

// A rate measured under two limits, each of which was also measured alone.
struct CornerPoint {
  double a = 0;
  double b = 0;
  double rate = 0;
};

inline constexpr double kMinCornerExponent = 1;
inline constexpr double kMaxCornerExponent = 64;

// The exponent in [1, 64] with the least sum of squares of
// log(rate / corner(a, b, exponent)).
// Errors: kInvalidArgument  a number is not over 0 and finite; or no point has
//                           limits within a factor of 4 of each other, so that
//                           the exponent cannot be determined
[[nodiscard]] Result<double> fit_corner(const std::vector<CornerPoint>& points);

}  // namespace penstock
