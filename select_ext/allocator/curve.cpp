#include "select_ext/allocator/curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace penstock::allocator {
namespace {

Status check_points(const std::vector<MeasuredPoint>& points) {
  bool any_rate = false;
  for (size_t i = 0; i < points.size(); ++i) {
    const MeasuredPoint& point = points[i];
    if (!std::isfinite(point.cores) || point.cores <= 0) {
      return invalid(fmt::format(
          "measured point {}: cores is {}, must be finite and over 0", i,
          point.cores));
    }
    if (!std::isfinite(point.rate) || point.rate < 0) {
      return invalid(fmt::format(
          "measured point {}: rate is {}, must be finite and at least 0", i,
          point.rate));
    }
    any_rate = any_rate || point.rate > 0;
  }
  if (!any_rate) return invalid("no measured point has a rate over 0");
  return Done{};
}

// By cores; of equal cores the fastest first.
std::vector<MeasuredPoint> sorted(std::vector<MeasuredPoint> points) {
  std::sort(points.begin(), points.end(),
            [](const MeasuredPoint& a, const MeasuredPoint& b) {
              return a.cores != b.cores ? a.cores < b.cores : a.rate > b.rate;
            });
  return points;
}

// Whether `middle` lies on or under the line from `from` to `to`.
bool is_under(const Job::Point& from, const Job::Point& middle,
              const MeasuredPoint& to) {
  return (middle.rate - from.rate) * (to.cores - from.cores) <=
         (to.rate - from.rate) * (middle.cores - from.cores);
}

}  // namespace

double cores_at(const Curve& curve, double rate) {
  Job::Point from;
  double slope = 0;
  for (const Job::Point& to : curve) {
    if (to.rate <= from.rate) continue;  // the optional (0,0)
    slope = (to.cores - from.cores) / (to.rate - from.rate);
    if (rate <= to.rate) break;
    from = to;
  }
  // Past the last point `from` is that point, and its slope continues.
  return from.cores + slope * (rate - from.rate);
}

double rate_at(const Curve& curve, double cores) {
  Job::Point from;
  double rate_per_core = std::numeric_limits<double>::infinity();
  for (const Job::Point& to : curve) {
    if (to.rate <= from.rate) continue;
    rate_per_core = (to.rate - from.rate) / (to.cores - from.cores);
    if (cores < to.cores) break;
    from = to;
  }
  if (std::isinf(rate_per_core)) return rate_per_core;
  return from.rate + rate_per_core * (cores - from.cores);
}

Result<Curve> concave_hull(const std::vector<MeasuredPoint>& points) {
  if (Status status = check_points(points); !status) return status.error();
  Curve hull = {{0, 0}};
  for (const MeasuredPoint& point : sorted(points)) {
    if (point.rate <= hull.back().rate) continue;
    while (hull.size() > 1 &&
           is_under(hull[hull.size() - 2], hull.back(), point)) {
      hull.pop_back();
    }
    hull.push_back({point.rate, point.cores});
  }
  hull.erase(hull.begin());
  return hull;
}

Result<PointGrant> round_down_to_point(const std::vector<MeasuredPoint>& points,
                                       double granted_cores) {
  if (std::isnan(granted_cores) || granted_cores < 0) {
    return invalid(
        fmt::format("granted_cores is {}, must be at least 0", granted_cores));
  }
  Result<Curve> hull = concave_hull(points);
  if (!hull) return hull.error();
  PointGrant grant;
  for (const MeasuredPoint& point : sorted(points)) {
    if (point.cores > granted_cores) break;
    if (point.rate <= grant.rate) continue;
    grant.cores = point.cores;
    grant.rate = point.rate;
  }
  const double hull_rate =
      std::min(rate_at(*hull, granted_cores), hull->back().rate);
  grant.loss_cores = granted_cores - grant.cores;
  grant.loss_rate = hull_rate - grant.rate;
  return grant;
}

}  // namespace penstock::allocator
