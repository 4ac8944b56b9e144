#include "node_agent/plan/user_budget.h"

#include <algorithm>

namespace penstock {

double SpentTime::left_at(uint64_t now_ns) const {
  const double drained_ns = share_ * static_cast<double>(now_ns - added_ns_);
  return std::max(0.0, spent_ns_ - drained_ns);
}

void SpentTime::add(uint64_t spent_ns, uint64_t now_ns) {
  spent_ns_ = left_at(now_ns) + static_cast<double>(spent_ns);
  added_ns_ = now_ns;
}

bool UserBudget::may_spend(uid_t uid, uint64_t now_ns) const {
  if (uid == 0) return true;
  const auto user = users_.find(uid);
  return all_.has_room(now_ns) &&
         (user == users_.end() || user->second.has_room(now_ns));
}

void UserBudget::charge(uid_t uid, uint64_t spent_ns, uint64_t now_ns) {
  if (uid == 0) return;
  all_.add(spent_ns, now_ns);
  if (users_.size() >= kMaxUsers) {
    std::erase_if(users_, [&](const auto& entry) {
      return entry.second.is_empty(now_ns);
    });
  }
  users_.try_emplace(uid, kUserShare, kUserRoom_ns)
      .first->second.add(spent_ns, now_ns);
}

}  // namespace penstock
