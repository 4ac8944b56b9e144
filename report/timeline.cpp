#include "report/timeline.h"

#include <algorithm>

namespace penstock {
namespace {

double end_of(const TimelinePoint& point) {
  return point.begin_unix_s + point.duration_s;
}

}  // namespace

TimelinePoint merged(const TimelinePoint& a, const TimelinePoint& b) {
  TimelinePoint out;
  out.begin_unix_s = a.begin_unix_s;
  out.duration_s = a.duration_s + b.duration_s;
  // Two points without duration get equal weights.
  const bool is_empty = !(out.duration_s > 0);
  const double weight_a = is_empty ? 0.5 : a.duration_s / out.duration_s;
  const double weight_b = 1 - weight_a;
  for (const TimelineColumn& column : kTimelineColumns) {
    const std::optional<double>&in_a = column.of(a), &in_b = column.of(b);
    const bool is_mean = column.is_share() ? in_a || in_b : in_a && in_b;
    column.of(out) = in_a ? in_a : in_b;
    if (!is_mean) continue;
    column.of(out) = weight_a * in_a.value_or(0) + weight_b * in_b.value_or(0);
  }
  return out;
}

std::vector<TimelinePoint> coarsened(const std::vector<TimelinePoint>& points,
                                     size_t max_points) {
  if (points.size() <= max_points) return points;
  const size_t group = (points.size() + max_points - 1) / max_points;
  std::vector<TimelinePoint> out;
  out.reserve(max_points);
  for (size_t i = 0; i < points.size(); ++i) {
    if (i % group == 0) {
      out.push_back(points[i]);
    } else {
      out.back() = merged(out.back(), points[i]);
    }
  }
  return out;
}

void Timeline::add(const TimelinePoint& point) {
  if (!(point.duration_s > 0)) return;
  if (!points_.empty()) {
    const TimelinePoint& last = points_.back();
    // Round to the nearest length, because periods are never exactly equal.
    const bool is_short = last.duration_s + point.duration_s / 2 <= point_s_;
    const bool is_next = point.begin_unix_s - end_of(last) < point_s_ / 2;
    if (is_short && is_next) {
      points_.back() = merged(last, point);
      return;
    }
  }
  if (points_.size() >= kMaxTimelinePoints) {
    points_ = coarsened(points_, kMaxTimelinePoints / 2);
    double covered_s = 0;
    for (const TimelinePoint& it : points_) covered_s += it.duration_s;
    point_s_ = covered_s / double(points_.size());
  }
  points_.push_back(point);
}

}  // namespace penstock
