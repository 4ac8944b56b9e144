#include "node_agent/stopped.h"

namespace penstock {
namespace {

constexpr char kStopped = 'T';  // proc(5); one that is traced has 't'

}  // namespace

bool is_stopped(const ProcReader& proc, const Job& job) {
  bool any = false;
  for (const auto& [first, task] : job.tasks) {
    std::set<pid_t> processes = task.processes;
    processes.insert(first);  // before the first scan
    for (pid_t pid : processes) {
      const Result<ProcStat> stat = proc.stat(pid);
      if (!stat || stat->dead()) continue;
      if (stat->state != kStopped) return false;
      any = true;
    }
  }
  return any;
}

}  // namespace penstock
