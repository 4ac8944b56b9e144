#include "node_agent/home_finder.h"

#include <algorithm>

namespace penstock {
namespace {

constexpr int kAncestors = 64;

Home home_as(const Home& task, pid_t tid) {
  Home home = task;
  home.task = TaskId{tid, 0};
  return home;
}

std::optional<Home> by_ancestor(const ProcReader& proc,
                                const std::vector<SavedTask>& saved,
                                pid_t tid) {
  Result<ProcStatus> status = proc.status(tid);
  pid_t pid = status ? status->tgid : 0;
  for (int i = 0; i < kAncestors && pid > 1; ++i) {
    for (const SavedTask& task : saved) {
      if (task.home.task.tid == pid) return home_as(task.home, tid);
    }
    Result<ProcStat> stat = proc.stat(pid);
    pid = stat ? stat->ppid : 0;
  }
  return std::nullopt;
}

std::optional<Home> by_job(const ProcReader& proc, const Backend& backend,
                           const std::vector<SavedTask>& saved, pid_t tid) {
  Result<ProcCgroups> groups = proc.cgroups(tid);
  if (!groups) return std::nullopt;
  const std::string group = backend.job_groups_of(*groups).tracked;
  for (const SavedTask& task : saved) {
    if (group.empty() || group != task.home.job_path) continue;
    Home home = home_as(task.home, tid);
    home.affinity = CpuSet();  // unknown task; empty: all CPUs of the group
    return home;
  }
  return std::nullopt;
}

}  // namespace

FindHome home_finder(const ProcReader& proc, const Backend& backend,
                     std::vector<SavedTask> saved) {
  return [&proc, &backend,
          saved = std::move(saved)](pid_t tid) -> std::optional<Home> {
    std::optional<Home> home = by_ancestor(proc, saved, tid);
    return home ? home : by_job(proc, backend, saved, tid);
  };
}

}  // namespace penstock
