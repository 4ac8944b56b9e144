// A job's course on its node: what it was granted, what it used and where its
// time went, over time. Plain values; pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace penstock {

// Bounds what is kept in memory and in a file; a longer course is kept
// coarser.
inline constexpr size_t kMaxTimelinePoints = 4096;
// And what parse_report() takes.
inline constexpr size_t kMaxParsedTimelinePoints = 16384;

// Averages over [begin_unix_s, begin_unix_s + duration_s). nullopt: not known.
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
  std::optional<double> rate;            // samples/s, as the job reported it
  std::optional<double> predicted_rate;  // of the grant that held
  // Shares of the time, 0 to 1, that together are 1 at most; what is left is
  // unattributed.
  std::optional<double> compute;
  std::optional<double> fetch_stall;
  std::optional<double> prep_stall;
  std::optional<double> exchange_stall;

  friend bool operator==(const TimelinePoint&, const TimelinePoint&) = default;
};

// One point for both. Its duration is theirs together, so that a gap between
// them stands behind it. A figure is weighted by the duration of those that
// know it; of shares, time in which one is unknown counts as unattributed.
// REQUIRES: b follows a.
TimelinePoint merged(const TimelinePoint& a, const TimelinePoint& b);

// At most max_points points that cover as much time, neighbours merged where
// there are more. max_points: 1 or more.
std::vector<TimelinePoint> coarsened(const std::vector<TimelinePoint>& points,
                                     size_t max_points);

// Collects points, in order of time; never more than kMaxTimelinePoints.
class Timeline {
 public:
  // Neighbours are merged by twos when it is full, and what comes later is
  // merged up to the length that points have then, but for what comes after a
  // gap. A point without duration is left out.
  // REQUIRES: point follows those that are there.
  void add(const TimelinePoint& point);
  const std::vector<TimelinePoint>& points() const { return points_; }

 private:
  std::vector<TimelinePoint> points_;
  double point_s_ = 0;  // what later points are merged up to
};

}  // namespace penstock
