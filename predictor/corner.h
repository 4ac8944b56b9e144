// Two rates that limit a third: near the point where one takes over from the
// other the rate stays under both, because each varies while the other waits
// for it. docs/model.md, section "What-if". Pure; thread-safe.
#pragma once

#include <vector>

#include "common/result.h"

namespace penstock {

// (a^-p + b^-p)^(-1/p): under the smaller of a and b, and ever closer to it as
// p grows; with p infinite it is the smaller one.
// REQUIRES: a, b >= 0, either may be infinite; exponent >= 1, may be infinite.
double corner(double a, double b, double exponent);

// The b at which corner(a, b, exponent) is rate: the least one, where the
// exponent is infinite. Infinite where no b is enough.
// REQUIRES: a, rate > 0, a may be infinite; exponent as above.
double beyond_corner(double a, double rate, double exponent);

// A rate that was measured under two limits of which each was measured alone.
struct CornerPoint {
  double a = 0;
  double b = 0;
  double rate = 0;
};

inline constexpr double kMinCornerExponent = 1;
inline constexpr double kMaxCornerExponent = 64;

// The exponent in [1, 64] with the least sum of squares of
// log(rate / corner(a, b, exponent)).
// Errors: kInvalidArgument  a number is not over 0 and finite; no point whose
//                           limits are within a factor of 4 of each other, so
//                           that nothing tells the exponent
[[nodiscard]] Result<double> fit_corner(const std::vector<CornerPoint>& points);

}  // namespace penstock
