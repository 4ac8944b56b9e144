#include "node_agent/trainer_delay.h"

#include <algorithm>
#include <set>

#include "node_agent/task.h"

namespace penstock {
namespace {

// Above this share the clocks are too coarse: the trainer hardly ever ran.
constexpr double kMostShare = 0.9;

}  // namespace

double TrainerDelay::lap_s(const ProcReader& proc,
                           const std::map<pid_t, Task>& tasks) {
  std::map<pid_t, SchedStat> now;
  uint64_t delay_ns = 0;
  size_t looked_at = 0;
  for (const auto& [root, task] : tasks) {
    if (is_batch(task) && tasks.size() > 1) continue;  // it only waits
    if (looked_at == kMaxTasks) break;
    ++looked_at;
    const std::set<pid_t> loaders = loader_processes(task);
    uint64_t longest_ns = 0;
    size_t count = 0;
    for (pid_t pid : task.processes) {
      if (loaders.contains(pid)) continue;
      if (++count > kMaxProcesses) break;
      const Result<SchedStat> stat = proc.schedstat(pid);
      if (!stat) continue;
      now[pid] = *stat;
      const auto before = last_.find(pid);
      if (before == last_.end() || stat->wait_ns < before->second.wait_ns) {
        continue;  // new, or a reused pid
      }
      longest_ns = std::max(longest_ns, stat->wait_ns - before->second.wait_ns);
    }
    delay_ns += longest_ns;
  }
  last_ = std::move(now);
  return looked_at == 0 ? 0.0 : double(delay_ns) * 1e-9 / double(looked_at);
}

double crowded_cores(double used, double delay_share) {
  const double share = std::clamp(delay_share, 0.0, kMostShare);
  return used * share / (1 - share);
}

}  // namespace penstock
