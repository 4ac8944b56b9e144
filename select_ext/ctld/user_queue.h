// The order in which users' queries are answered. Pure: time is an argument, of
// a monotonic clock. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "common/result.h"
#include "common/user_budget.h"

namespace penstock {

// Root's queries come first. Other users take turns, each within its budget of
// time; a user's own queries keep their order.
template <class Item>
class UserQueue {
 public:
  // Waiting queries of a user, and of all users but root, or of root.
  static constexpr size_t kMaxOfUser = 8;
  static constexpr size_t kMaxOfAll = 256;
  // A command gives up after 3 s.
  static constexpr uint64_t kMaxWait_ns = 2'000'000'000;

  // Takes the item, or leaves it.
  // Errors: kLimit  too many wait; says when to try again
  [[nodiscard]] Status put(uid_t uid, Item&& item, uint64_t now_ns) {
    const size_t own = users_.contains(uid) ? users_.at(uid).size() : 0;
    const size_t of_root = users_.contains(0) ? users_.at(0).size() : 0;
    const bool has_room =
        uid == 0 ? of_root < kMaxOfAll
                 : own < kMaxOfUser && count_ - of_root < kMaxOfAll;
    if (!has_room) return refusal(uid, now_ns);
    if (own == 0) turns_.push_back(uid);
    users_[uid].push_back({std::move(item), now_ns});
    ++count_;
    return Done{};
  }

  // An item and, if it has waited too long to be served, the error for its
  // sender: kLimit.
  struct Next {
    uid_t uid = 0;
    Item item;
    Status may_be_served = Done{};
  };
  // nullopt: none waits, or all who wait have spent their budget.
  std::optional<Next> next(uint64_t now_ns) {
    for (const uid_t uid : turns_) {
      if (now_ns - users_.at(uid).front().since_ns > kMaxWait_ns) {
        return take(uid, refusal(uid, now_ns));
      }
    }
    if (users_.contains(0)) return take(0, Done{});
    const auto turn =
        std::find_if(turns_.begin(), turns_.end(),
                     [&](uid_t uid) { return budget_.may_spend(uid, now_ns); });
    if (turn == turns_.end()) return std::nullopt;
    return take(*turn, Done{});
  }

  // Call it with the time that serving an item took.
  void charge(uid_t uid, uint64_t spent_ns, uint64_t now_ns) {
    budget_.charge(uid, spent_ns, now_ns);
  }

  size_t size() const { return count_; }

 private:
  struct Waiting {
    Item item;
    uint64_t since_ns = 0;
  };

  Error refusal(uid_t uid, uint64_t now_ns) const {
    constexpr uint64_t kSecond_ns = 1'000'000'000;
    const uint64_t wait_s = budget_.wait_ns(uid, now_ns) / kSecond_ns + 1;
    return Error{Code::kLimit, 0,
                 "too many queries from user " + std::to_string(uid) +
                     "; try again in " + std::to_string(wait_s) + " s"};
  }

  // The user's first item; its next turn comes after everybody else's.
  Next take(uid_t uid, Status may_be_served) {
    std::deque<Waiting>& own = users_.at(uid);
    Next next{uid, std::move(own.front().item), std::move(may_be_served)};
    own.pop_front();
    --count_;
    std::erase(turns_, uid);
    if (own.empty()) {
      users_.erase(uid);
    } else {
      turns_.push_back(uid);
    }
    return next;
  }

  UserBudget budget_;
  std::map<uid_t, std::deque<Waiting>> users_;  // with items only
  std::deque<uid_t> turns_;                     // the keys of users_
  size_t count_ = 0;
};

}  // namespace penstock
