#include "report/resample.h"

#include <algorithm>

namespace penstock {

double span_s(const std::vector<TimelinePoint>& points) {
  if (points.empty()) return 0;
  return points.back().begin_unix_s + points.back().duration_s -
         points.front().begin_unix_s;
}

std::vector<std::optional<double>> resampled(
    const std::vector<TimelinePoint>& points, size_t steps,
    const PointFigure& figure) {
  if (points.empty()) return {};
  const double begin = points.front().begin_unix_s;
  return resampled(points, {begin, begin + span_s(points)}, steps, figure);
}

std::vector<std::optional<double>> resampled(
    const std::vector<TimelinePoint>& points, const TimeSpan& time,
    size_t steps, const PointFigure& figure) {
  const double step_s = (time.end_unix_s - time.begin_unix_s) /
                        double(std::max<size_t>(1, steps));
  if (!(step_s > 0)) return {};
  std::vector<double> integral(steps), known_s(steps);
  for (const TimelinePoint& point : points) {
    const std::optional<double> value = figure(point);
    if (!value) continue;
    const double begin_s = point.begin_unix_s - time.begin_unix_s;
    const double end_s = begin_s + point.duration_s;
    // Points of a file may overlap or reach beyond the ends.
    const double first = std::clamp(begin_s / step_s, 0.0, double(steps));
    for (auto i = size_t(first); i < steps && double(i) * step_s < end_s; ++i) {
      const double overlap_s = std::min(end_s, double(i + 1) * step_s) -
                               std::max(begin_s, double(i) * step_s);
      if (!(overlap_s > 0)) continue;
      integral[i] += *value * overlap_s;
      known_s[i] += overlap_s;
    }
  }
  std::vector<std::optional<double>> out(steps);
  for (size_t i = 0; i < steps; ++i) {
    if (known_s[i] > 0) out[i] = integral[i] / known_s[i];
  }
  return out;
}

}  // namespace penstock
