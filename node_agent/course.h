// Collects a job's course, a period at a time. A trainer tells its figures with
// the batches that it consumes: periods wait for the one that tells of them.
#pragma once

#include <vector>

#include "report/report.h"
#include "report/timeline.h"

namespace penstock {

class Course {
 public:
  // A batch tells of this many periods at most; the earlier ones stay without.
  static constexpr size_t kMostWaiting = 60;

  // A period whose rate and shares are in it already, or will never be known.
  void add(const TimelinePoint& period);
  // A period whose rate and shares the next batch tells.
  void add_waiting(const TimelinePoint& period);
  // Of all periods that wait: the rate, and parts of whatever wall time as
  // shares.
  void tell(double rate, const Breakdown& parts);
  // Nothing will be told of those that wait.
  void give_up();

  // What waits comes last.
  std::vector<TimelinePoint> points() const;

 private:
  Timeline timeline_;
  std::vector<TimelinePoint> waiting_;
};

// The parts as shares of the time.
void set_shares(TimelinePoint& point, const Breakdown& parts);

}  // namespace penstock
