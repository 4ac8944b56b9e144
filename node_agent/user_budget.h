// How much of penstockd's time users' messages may take (docs/protocol.md).
// Pure: time is an argument. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>

namespace penstock {

// A leaky bucket of time: what was spent drains at a share of the clock. What
// one message costs is known only afterwards, so the last may overfill it.
class SpentTime {
 public:
  SpentTime(double share, double room_ns) : share_(share), room_ns_(room_ns) {}

  // now_ns: of a clock that never goes back.
  void add(uint64_t spent_ns, uint64_t now_ns);
  bool has_room(uint64_t now_ns) const { return left_at(now_ns) < room_ns_; }
  bool is_empty(uint64_t now_ns) const { return left_at(now_ns) <= 0; }

 private:
  double left_at(uint64_t now_ns) const;

  double share_;
  double room_ns_;
  double spent_ns_ = 0;
  uint64_t added_ns_ = 0;  // when
};

// One bucket for each user, and one for all of them together: a user may own
// many user ids. Root has neither.
class UserBudget {
 public:
  bool may_spend(uid_t uid, uint64_t now_ns) const;
  void charge(uid_t uid, uint64_t spent_ns, uint64_t now_ns);
  size_t known_users() const { return users_.size(); }

  // Shares of one CPU in the long run, and what may be spent at once.
  static constexpr double kUserShare = 0.1;
  static constexpr double kUserRoom_ns = 40e6;
  static constexpr double kAllShare = 0.5;
  static constexpr double kAllRoom_ns = 60e6;
  // Users who spent nothing lately are forgotten beyond this many.
  static constexpr size_t kMaxUsers = 1024;

 private:
  std::map<uid_t, SpentTime> users_;
  SpentTime all_{kAllShare, kAllRoom_ns};
};

}  // namespace penstock
