#include "node_agent/stopped.h"

namespace penstock {
namespace {

constexpr char kStopped = 'T';  // proc(5); a traced process has 't'

bool is_frozen(const ProcReader& proc, const Backend& backend, pid_t pid) {
  const Result<ProcCgroups> groups = proc.cgroups(pid);
  return groups && backend.is_frozen(*groups);
}

}  // namespace

// Slurm stops the tasks' first processes by a signal, then freezes all. A
// frozen process shows no state of its own.
bool is_stopped(const ProcReader& proc, const Backend& backend,
                const Job& job) {
  bool any = false;
  for (const auto& [first, task] : job.tasks) {
    std::set<pid_t> processes = task.processes;
    processes.insert(first);  // before the first scan
    for (pid_t pid : processes) {
      const Result<ProcStat> stat = proc.stat(pid);
      if (!stat || stat->dead()) continue;
      if (stat->state != kStopped && !is_frozen(proc, backend, pid)) {
        return false;
      }
      any = true;
    }
  }
  return any;
}

}  // namespace penstock
