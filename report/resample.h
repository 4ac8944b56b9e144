// A timeline at equal time steps, for a line of figures. Pure.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "report/timeline.h"

namespace penstock {

// Averages over `steps` equal parts of the time from the first point's begin to
// the last point's end, weighted by duration of the points that know the
// figure. nullopt: no point with the figure covers that part. Empty for a
// timeline that is empty or has no duration.
std::vector<std::optional<double>> resampled(
    const std::vector<TimelinePoint>& points, size_t steps,
    const std::function<std::optional<double>(const TimelinePoint&)>& figure);

// Seconds from the first point's begin to the last point's end.
double span_s(const std::vector<TimelinePoint>& points);

}  // namespace penstock
