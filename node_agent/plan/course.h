// Collects a job's course, one point per sampling period. A trainer reports
// only when it consumes a batch, so periods wait for the next batch.
#pragma once

#include <vector>

#include "report/report.h"
#include "report/timeline.h"

namespace penstock {

class Course {
 public:
  // One batch completes at most this many periods; older ones stay incomplete.
  static constexpr size_t kMostWaiting = 60;

  // Adds a period whose rate and shares are set, or will never be known.
  void add(const TimelinePoint& period);
  // Adds a period that waits for the next batch's rate and shares.
  void add_waiting(const TimelinePoint& period);
  // Sets the rate and the shares of all waiting periods. The parts may cover
  // any wall time; they become shares of it.
  void tell(double rate, const Breakdown& parts);
  // Leaves the waiting periods incomplete.
  void give_up();

  // The waiting periods come last.
  std::vector<TimelinePoint> points() const;

 private:
  Timeline timeline_;
  std::vector<TimelinePoint> waiting_;
};

// Sets the parts as shares of the wall time.
void set_shares(TimelinePoint& point, const Breakdown& parts);

}  // namespace penstock
