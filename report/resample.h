// A course at equal steps of time, as a line of figures shows it. Pure.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "report/timeline.h"

namespace penstock {

// Averages over `steps` equal parts of the time from the first point's begin to
// the last one's end, weighted by the time of the points that know the figure;
// nullopt for a part that none of them covers. Empty for an empty course, and
// for one without duration.
std::vector<std::optional<double>> resampled(
    const std::vector<TimelinePoint>& points, size_t steps,
    const std::function<std::optional<double>(const TimelinePoint&)>& figure);

// From the first point's begin to the last one's end.
double span_s(const std::vector<TimelinePoint>& points);

}  // namespace penstock
