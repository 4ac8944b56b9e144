#include "link/strangers.h"

#include <algorithm>

namespace penstock {

void Strangers::add(uint64_t id, const std::string& address) {
  const auto group = groups_.try_emplace(address).first;
  group->second.ids.insert(id);
  by_id_[id] = {group, 0};
}

void Strangers::hold(uint64_t id, size_t bytes) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  auto& [group, before] = found->second;
  group->second.bytes += bytes - before;
  bytes_ += bytes - before;
  before = bytes;
}

void Strangers::remove(uint64_t id) {
  hold(id, 0);
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;
  const auto group = found->second.group;
  group->second.ids.erase(id);
  if (group->second.ids.empty()) groups_.erase(group);
  by_id_.erase(found);
}

std::optional<uint64_t> Strangers::one_too_many() const {
  const bool bytes = bytes_ > max_bytes_;
  if (!bytes && by_id_.size() <= max_connections_) return std::nullopt;
  const auto has = [&](const Group& group) {
    return bytes ? group.bytes : group.ids.size();
  };
  const auto most = std::max_element(groups_.begin(), groups_.end(),
                                     [&](const auto& a, const auto& b) {
                                       return has(a.second) < has(b.second);
                                     });
  const std::set<uint64_t>& ids = most->second.ids;
  return *std::find_if(ids.begin(), ids.end(), [&](uint64_t id) {
    return !bytes || by_id_.at(id).bytes > 0;
  });
}

}  // namespace penstock
