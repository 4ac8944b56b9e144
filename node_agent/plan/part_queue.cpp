#include "node_agent/plan/part_queue.h"

#include <algorithm>
#include <cmath>

#include "common/units.h"

namespace penstock {
namespace {

constexpr const char* kPrefix = "part.";

}  // namespace

PartKey part_key(uint64_t job, double started_unix_s) {
  return {job, uint64_t(std::llround(std::max(0.0, started_unix_s) * 1000))};
}

std::string part_name(const PartKey& key) {
  return kPrefix + std::to_string(key.job) + "." +
         std::to_string(key.started_ms);
}

std::optional<PartKey> parse_part_name(const std::string& name) {
  const std::string prefix = kPrefix;
  const size_t dot = name.rfind('.');
  if (!name.starts_with(prefix) || dot < prefix.size()) return std::nullopt;
  const auto job = parse_uint(name.substr(prefix.size(), dot - prefix.size()),
                              1, UINT32_MAX);
  const auto started = parse_uint(name.substr(dot + 1), 0, UINT64_MAX);
  if (!job || !started) return std::nullopt;
  const PartKey key{*job, *started};
  if (part_name(key) != name) return std::nullopt;
  return key;
}

std::optional<PartKey> PartQueue::add(const PartKey& key,
                                      double updated_unix_s) {
  State state;
  state.number = ++added_;
  state.updated_unix_s = updated_unix_s;
  parts_[key] = state;
  if (parts_.size() <= kMaxParts) return std::nullopt;
  return let_go_one();
}

std::optional<PartKey> PartQueue::let_go_one() {
  const auto rank = [](const auto& entry) {
    return std::pair(entry.second.kept_by.empty(), entry.second.number);
  };
  const auto first = std::min_element(
      parts_.begin(), parts_.end(),
      [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  const PartKey key = first->first;
  if (first->second.kept_by.empty()) ++lost_;
  parts_.erase(first);
  return key;
}

std::vector<DuePart> PartQueue::due(double now_s, size_t most) {
  std::vector<std::pair<uint64_t, PartKey>> found;
  for (const auto& [key, state] : parts_) {
    if (state.due_s <= now_s) found.emplace_back(state.number, key);
  }
  std::sort(found.begin(), found.end());
  if (found.size() > most) found.resize(most);
  std::vector<DuePart> out;
  for (const auto& [number, key] : found) {
    State& state = parts_[key];
    state.due_s = now_s + state.pause_s;
    state.pause_s = std::min(2 * state.pause_s, kLongestPause_s);
    DuePart due{key, {}};
    for (size_t i = 0; i < controllers_; ++i) {
      if (!state.kept_by.contains(i)) due.controllers.push_back(i);
    }
    out.push_back(std::move(due));
  }
  return out;
}

void PartQueue::drop(const PartKey& key) {
  const auto found = parts_.find(key);
  if (found == parts_.end()) return;
  if (found->second.kept_by.empty()) ++lost_;
  parts_.erase(found);
}

void PartQueue::hurry(size_t controller) {
  for (auto& [key, state] : parts_) {
    if (state.kept_by.contains(controller)) continue;
    state.due_s = 0;
    state.pause_s = kFirstPause_s;
  }
}

bool PartQueue::kept(const PartKey& key, double updated_unix_s,
                     size_t controller) {
  const auto found = parts_.find(key);
  if (found == parts_.end() || found->second.updated_unix_s != updated_unix_s) {
    return false;
  }
  found->second.kept_by.insert(controller);
  if (found->second.kept_by.size() < controllers_) return false;
  parts_.erase(found);
  return true;
}

void PartQueue::identify(const PartKey& key, double updated_unix_s) {
  const auto found = parts_.find(key);
  if (found != parts_.end()) found->second.updated_unix_s = updated_unix_s;
}

}  // namespace penstock
