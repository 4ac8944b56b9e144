// A timeline at equal time steps, for a line of figures. Pure.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "report/timeline.h"

namespace penstock {

using PointFigure = std::function<std::optional<double>(const TimelinePoint&)>;

struct TimeSpan {
  double begin_unix_s = 0;
  double end_unix_s = 0;
};

// Averages over `steps` equal parts of the time, weighted by duration of the
// points that know the figure. nullopt: no point with the figure covers that
// part. Empty if the time has no duration.
std::vector<std::optional<double>> resampled(
    const std::vector<TimelinePoint>& points, const TimeSpan& time,
    size_t steps, const PointFigure& figure);

// The same from the first point's begin to the last point's end.
std::vector<std::optional<double>> resampled(
    const std::vector<TimelinePoint>& points, size_t steps,
    const PointFigure& figure);

// Seconds from the first point's begin to the last point's end.
double span_s(const std::vector<TimelinePoint>& points);

}  // namespace penstock
