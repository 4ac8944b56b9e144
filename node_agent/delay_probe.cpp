#include "node_agent/delay_probe.h"

#include "node_agent/task.h"

namespace penstock {
namespace {

// With less wanted CPU time in a period, the quotient would be noise.
constexpr uint64_t kLeastWanted_ns = 5'000'000;

using Readings = std::map<pid_t, SchedStat>;

void read_loaders(Task& task, Readings& now) {
  for (Unit& unit : task.units) {
    if (unit.away) continue;
    for (LoaderThread& thread : unit.threads) {
      if (now.size() >= DelayProbe::kMaxThreads) return;
      if (auto stat = thread.schedstat.read()) {
        now[thread.home.task.tid] = *stat;
      }
    }
  }
}

void read_others(const ProcReader& proc, const Task& task, Readings& now) {
  size_t count = 0;
  for (pid_t pid : task.processes) {
    if (count >= DelayProbe::kMaxProcesses) return;
    // Already read as a loader's. In other processes the main thread is a
    // trainer's, even if other threads are loaders.
    if (now.contains(pid)) continue;
    ++count;
    Result<SchedstatFile> file = proc.open_schedstat(pid);
    if (!file) continue;
    if (auto stat = file->read()) now[pid] = *stat;
  }
}

}  // namespace

std::optional<double> DelayProbe::got_share(const ProcReader& proc,
                                            std::map<pid_t, Task>& tasks) {
  Readings now;
  for (auto& [pid, task] : tasks) read_loaders(task, now);
  for (auto& [pid, task] : tasks) {
    if (now.size() < kMaxThreads) read_others(proc, task, now);
  }
  uint64_t run_ns = 0;
  uint64_t wait_ns = 0;
  for (const auto& [tid, stat] : now) {
    const auto before = last_.find(tid);
    if (before == last_.end() || stat.run_ns < before->second.run_ns ||
        stat.wait_ns < before->second.wait_ns) {
      continue;  // new, or a reused tid
    }
    run_ns += stat.run_ns - before->second.run_ns;
    wait_ns += stat.wait_ns - before->second.wait_ns;
  }
  last_ = std::move(now);
  if (run_ns + wait_ns < kLeastWanted_ns) return std::nullopt;
  return double(run_ns) / double(run_ns + wait_ns);
}

}  // namespace penstock
