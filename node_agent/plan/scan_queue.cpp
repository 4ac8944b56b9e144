#include "node_agent/plan/scan_queue.h"

#include <algorithm>

namespace penstock {
namespace {

uint64_t pause_ns(uint64_t cost_ns) {
  const uint64_t most_ns =
      std::clamp(ScanQueue::kLongPausePerCost * cost_ns,
                 ScanQueue::kLongPause_ns, ScanQueue::kMostPause_ns);
  return std::min(ScanQueue::kPausePerCost * cost_ns, most_ns);
}

}  // namespace

uint64_t ScanQueue::Entry::due_ns() const {
  return marked_ns + std::max(kDelay_ns, pause_ns(cost_ns));
}

uint64_t ScanQueue::Entry::rank_ns() const {
  return waits_since_ns +
         std::min(kPatiencePerCost * cost_ns, kMostPatience_ns);
}

void ScanQueue::mark(JobId job, pid_t task, uint64_t now_ns) {
  Entry& entry = jobs_[job];
  if (entry.tasks.empty()) entry.marked_ns = entry.waits_since_ns = now_ns;
  entry.tasks.insert(task);
}

std::optional<uint64_t> ScanQueue::next_ns() const {
  std::optional<uint64_t> next;
  for (const auto& [job, entry] : jobs_) {
    if (entry.tasks.empty()) continue;
    next = std::min(next.value_or(entry.due_ns()), entry.due_ns());
  }
  if (next) next = std::max(*next, resume_ns_);
  return next;
}

std::optional<ScanQueue::Scan> ScanQueue::take(uint64_t now_ns) {
  if (now_ns < resume_ns_) return std::nullopt;
  auto first = jobs_.end();
  for (auto it = jobs_.begin(); it != jobs_.end(); ++it) {
    const Entry& entry = it->second;
    if (entry.tasks.empty() || entry.due_ns() > now_ns) continue;
    if (first == jobs_.end() || entry.rank_ns() < first->second.rank_ns()) {
      first = it;
    }
  }
  if (first == jobs_.end()) return std::nullopt;
  Entry& entry = first->second;
  auto next = entry.tasks.upper_bound(entry.last);
  if (next == entry.tasks.end()) next = entry.tasks.begin();
  entry.last = *next;
  entry.waits_since_ns = now_ns;
  entry.tasks.erase(next);
  return Scan{first->first, entry.last};
}

void ScanQueue::done(JobId job, uint64_t cost_ns, uint64_t now_ns) {
  resume_ns_ = now_ns + pause_ns(cost_ns);
  if (const auto it = jobs_.find(job); it != jobs_.end()) {
    it->second.cost_ns = cost_ns;
  }
}

void ScanQueue::forget(JobId job) { jobs_.erase(job); }

}  // namespace penstock
