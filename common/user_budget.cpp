#include "common/user_budget.h"

#include <algorithm>

namespace penstock {

double SpentTime::left_at(uint64_t now_ns) const {
  const double drained_ns = share_ * static_cast<double>(now_ns - added_ns_);
  return std::max(0.0, spent_ns_ - drained_ns);
}

uint64_t SpentTime::wait_ns(uint64_t now_ns) const {
  const double excess_ns = left_at(now_ns) - room_ns_;
  return excess_ns < 0 ? 0 : static_cast<uint64_t>(excess_ns / share_) + 1;
}

void SpentTime::add(uint64_t spent_ns, uint64_t now_ns) {
  spent_ns_ = left_at(now_ns) + static_cast<double>(spent_ns);
  added_ns_ = now_ns;
}

uint64_t UserBudget::wait_ns(uid_t uid, uint64_t now_ns) const {
  if (uid == 0) return 0;
  const auto user = users_.find(uid);
  return std::max(all_.wait_ns(now_ns),
                  user == users_.end() ? 0 : user->second.wait_ns(now_ns));
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
