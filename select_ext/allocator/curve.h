// Cost curves: loader cores as a convex, piecewise linear function of the
// rate, and how measured rates become one. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "common/result.h"
#include "select_ext/allocator/problem.h"

namespace penstock::allocator {

using Curve = std::vector<Job::Point>;

// Errors: kInvalidArgument  a point is not finite, does not ascend, or makes
// the
//                           curve other than convex: names `job` and the point
[[nodiscard]] Status validate_curve(uint64_t job, const Curve& curve);

// Loader cores that `rate` needs. REQUIRES: a valid curve, rate >= 0.
double cores_at(const Curve& curve, double rate);

// Cores per unit of rate just above `rate`. REQUIRES: as cores_at.
double slope_above(const Curve& curve, double rate);

// The highest rate that `cores` allow; infinite where the curve's last piece
// costs nothing. REQUIRES: a valid curve, cores >= 0.
double rate_at(const Curve& curve, double cores);

// A rate that was measured with so many loader cores.
struct MeasuredPoint {
  double cores = 0;  // > 0
  double rate = 0;   // >= 0, samples/s per rank
};

// The least concave function above (0,0) and the measured points, up to the
// highest rate, as a convex cores_curve. More cores than the highest rate
// needs are left out; the ceiling keeps the rate from going beyond it.
//   in   points in any order; of two with equal cores the faster counts
// Errors: kInvalidArgument  a number is NaN, infinite or out of range: names
//                           the point; no point has a rate over 0
[[nodiscard]] Result<Curve> concave_hull(
    const std::vector<MeasuredPoint>& points);

// What a job makes of cores granted on its hull when only the measured points
// can be had.
struct PointGrant {
  double cores = 0;       // of the point; 0 under the first one
  double rate = 0;        // of the point
  double loss_cores = 0;  // granted less the point's
  double loss_rate = 0;   // the hull's rate at the grant less the point's
};

// Rounds `granted_cores` down to the fastest measured point that they hold;
// of equally fast ones to the cheapest. The caller applies this to loans only:
// the cores of an entitlement are not taken away because they fall between two
// points.
// Errors: as concave_hull; kInvalidArgument  granted_cores is NaN or negative
[[nodiscard]] Result<PointGrant> round_down_to_point(
    const std::vector<MeasuredPoint>& points, double granted_cores);

}  // namespace penstock::allocator
