#include "node_agent/plan/course.h"

namespace penstock {

void set_shares(TimelinePoint& point, const Breakdown& breakdown) {
  if (!(breakdown.wall_s > 0)) return;
  for (const WallPartNames& it : kWallParts) {
    std::optional<double>& share = point.shares[it.part];
    share = breakdown.parts[it.part].seconds;
    if (share) *share /= breakdown.wall_s;
  }
}

void Course::add(const TimelinePoint& period) {
  give_up();
  timeline_.add(period);
}

void Course::add_waiting(const TimelinePoint& period) {
  if (waiting_.size() >= kMostWaiting) {
    timeline_.add(waiting_.front());
    waiting_.erase(waiting_.begin());
  }
  waiting_.push_back(period);
}

void Course::tell(double rate, const Breakdown& parts) {
  for (TimelinePoint& period : waiting_) {
    period.rate = rate;
    set_shares(period, parts);
  }
  give_up();
}

void Course::give_up() {
  for (const TimelinePoint& period : waiting_) timeline_.add(period);
  waiting_.clear();
}

std::vector<TimelinePoint> Course::points() const {
  std::vector<TimelinePoint> out = timeline_.points();
  out.insert(out.end(), waiting_.begin(), waiting_.end());
  return out;
}

}  // namespace penstock
