// A job's timeline on its node: grants, use and the breakdown of time. Plain
// values; pure.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "common/wall_parts.h"

namespace penstock {

// Limit in memory and in a file; a longer timeline is kept coarser.
inline constexpr size_t kMaxTimelinePoints = 4096;
// Limit of parse_report().
inline constexpr size_t kMaxParsedTimelinePoints = 16384;

// Averages over [begin_unix_s, begin_unix_s + duration_s). nullopt: unknown.
struct TimelinePoint {
  double begin_unix_s = 0;
  double duration_s = 0;
  std::optional<double> granted_home_cores;
  std::optional<double> granted_away_cores;
  std::optional<double> used_home_cores;  // loader threads, on the job's CPUs
  std::optional<double> used_away_cores;  // loader threads, on lent CPUs
  std::optional<double> used_trainer_cores;
  std::optional<double> granted_bytes_per_s;  // nullopt: no limit
  std::optional<double> used_bytes_per_s;
  std::optional<double> rate;            // samples/s, as reported by the job
  std::optional<double> predicted_rate;  // of the grant then in force
  // Shares of the time, 0 to 1, with a sum of at most 1; the rest is
  // unattributed.
  PerWallPart<std::optional<double>> shares;

  friend bool operator==(const TimelinePoint&, const TimelinePoint&) = default;
};

// A figure of a point and its name in JSON.
struct TimelineColumn {
  const char* name = nullptr;
  std::optional<double> TimelinePoint::*figure = nullptr;
  WallPart part = WallPart::kCompute;  // for the share of a part: no figure

  constexpr bool is_share() const { return figure == nullptr; }
  template <class Point>
  constexpr auto& of(Point& point) const {
    return figure ? point.*figure : point.shares[part];
  }
};
inline constexpr auto kTimelineColumns = [] {
  std::array<TimelineColumn, 9 + kWallParts.size()> columns = {
      {{"granted_home_cores", &TimelinePoint::granted_home_cores},
       {"granted_away_cores", &TimelinePoint::granted_away_cores},
       {"used_home_cores", &TimelinePoint::used_home_cores},
       {"used_away_cores", &TimelinePoint::used_away_cores},
       {"used_trainer_cores", &TimelinePoint::used_trainer_cores},
       {"granted_bytes_per_s", &TimelinePoint::granted_bytes_per_s},
       {"used_bytes_per_s", &TimelinePoint::used_bytes_per_s},
       {"rate", &TimelinePoint::rate},
       {"predicted_rate", &TimelinePoint::predicted_rate}}};
  for (const WallPartNames& it : kWallParts) {
    columns[9 + size_t(it.part)] = {it.key, nullptr, it.part};
  }
  return columns;
}();

// One point for both. Its duration is the sum of theirs, so a gap between them
// moves behind the merged point. A figure is the duration-weighted mean of the
// points that know it. For shares, time in which one is unknown counts as
// unattributed.
// REQUIRES: b follows a.
TimelinePoint merged(const TimelinePoint& a, const TimelinePoint& b);

// At most max_points points that cover the same time; neighbours are merged if
// there are more. max_points: 1 or more.
std::vector<TimelinePoint> coarsened(const std::vector<TimelinePoint>& points,
                                     size_t max_points);

// Collects points in order of time; never more than kMaxTimelinePoints.
class Timeline {
 public:
  // Adds a point. A full timeline is halved by merging pairs of neighbours.
  // Later points are merged up to the length that points then have, but not
  // across a gap. A point without duration is ignored.
  // REQUIRES: point follows the points added before.
  void add(const TimelinePoint& point);
  const std::vector<TimelinePoint>& points() const { return points_; }

 private:
  std::vector<TimelinePoint> points_;
  double point_s_ = 0;  // length up to which later points are merged
};

}  // namespace penstock
