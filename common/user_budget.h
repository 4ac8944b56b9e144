// Limits a daemon's time for users' messages (docs/protocol.md). Pure: time is
// an argument. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>

namespace penstock {

// A leaky bucket of time: it drains at a share of the clock. A message's cost
// is known only afterwards, so the last message may overfill it.
class SpentTime {
 public:
  SpentTime(double share, double room_ns) : share_(share), room_ns_(room_ns) {}

  // now_ns: from a monotonic clock.
  void add(uint64_t spent_ns, uint64_t now_ns);
  // Time until there is room, if nothing is added.
  uint64_t wait_ns(uint64_t now_ns) const;
  bool is_empty(uint64_t now_ns) const { return left_at(now_ns) <= 0; }

 private:
  double left_at(uint64_t now_ns) const;

  double share_;
  double room_ns_;
  double spent_ns_ = 0;
  uint64_t added_ns_ = 0;  // time of the last add()
};

// One bucket per user, and one for all users together, because one person may
// control many user ids. Root is exempt.
class UserBudget {
 public:
  // Time until the user may spend, if nobody spends meanwhile; 0: it may now.
  uint64_t wait_ns(uid_t uid, uint64_t now_ns) const;
  bool may_spend(uid_t uid, uint64_t now_ns) const {
    return wait_ns(uid, now_ns) == 0;
  }
  void charge(uid_t uid, uint64_t spent_ns, uint64_t now_ns);
  size_t known_users() const { return users_.size(); }

  // Long-run shares of one CPU, and the time available at once.
  static constexpr double kUserShare = 0.1;
  static constexpr double kUserRoom_ns = 40e6;
  static constexpr double kAllShare = 0.5;
  static constexpr double kAllRoom_ns = 60e6;
  // Beyond this number, users with an empty bucket are forgotten.
  static constexpr size_t kMaxUsers = 1024;

 private:
  std::map<uid_t, SpentTime> users_;
  SpentTime all_{kAllShare, kAllRoom_ns};
};

}  // namespace penstock
