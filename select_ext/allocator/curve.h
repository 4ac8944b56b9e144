// Cost curves: loader cores as a convex, piecewise linear function of the rate,
// and their construction from measured rates. Pure; thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "common/result.h"
#include "select_ext/allocator/problem.h"

namespace penstock::allocator {

using Curve = std::vector<Job::Point>;

// Errors: kInvalidArgument  a point is not finite, does not ascend, or makes
//                           the curve non-convex: names `job` and the point
[[nodiscard]] Status validate_curve(uint64_t job, const Curve& curve);

// Loader cores needed for `rate`. REQUIRES: a valid curve, rate >= 0.
double cores_at(const Curve& curve, double rate);

// Highest rate that `cores` allow; infinite where the last piece of the curve
// has slope 0. REQUIRES: a valid curve, cores >= 0.
double rate_at(const Curve& curve, double cores);

// A rate measured with a number of loader cores.
struct MeasuredPoint {
  double cores = 0;  // > 0
  double rate = 0;   // >= 0, samples/s per rank
};

// The least concave function above (0,0) and the measured points, as a convex
// cores_curve. It ends at the point with the highest rate; the job's ceiling
// must keep rates at or under that.
//   in   points in any order; of two with equal cores the faster counts
// Errors: kInvalidArgument  a number is NaN, infinite or out of range: names
//                           the point; no point has a rate over 0
[[nodiscard]] Result<Curve> concave_hull(
    const std::vector<MeasuredPoint>& points);

// Cores and rate of a job that can run at measured points only, and its loss
// against a grant on the hull.
struct PointGrant {
  double cores = 0;       // of the point; 0 under the first one
  double rate = 0;        // of the point
  double loss_cores = 0;  // granted less the point's
  double loss_rate = 0;   // the hull's rate at the grant less the point's
};

// Rounds `granted_cores` down to the fastest measured point that fits into
// them; of equally fast points, to the one with the fewest cores. Apply it to
// loans only: entitled cores between two points stay with the job.
// Errors: as concave_hull; kInvalidArgument  granted_cores is NaN or negative
[[nodiscard]] Result<PointGrant> round_down_to_point(
    const std::vector<MeasuredPoint>& points, double granted_cores);

}  // namespace penstock::allocator
