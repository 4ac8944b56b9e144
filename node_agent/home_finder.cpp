#include "node_agent/home_finder.h"

#include <algorithm>

#include "node_agent/registry.h"

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

std::optional<Home> by_job(const ProcReader& proc,
                           const std::vector<SavedTask>& saved, pid_t tid) {
  Result<ProcCgroups> groups = proc.cgroups(tid);
  if (!groups) return std::nullopt;
  const auto freezer = groups->find("freezer");
  if (freezer == groups->end()) return std::nullopt;
  const std::string group = job_group_of(freezer->second);
  for (const SavedTask& task : saved) {
    if (!group.ends_with("/job_" + std::to_string(task.start.job_id))) {
      continue;
    }
    Home home = home_as(task.home, tid);
    home.affinity = CpuSet();  // of which task is not known
    return home;
  }
  return std::nullopt;
}

}  // namespace

FindHome home_finder(const ProcReader& proc, std::vector<SavedTask> saved) {
  return [&proc, saved = std::move(saved)](pid_t tid) -> std::optional<Home> {
    std::optional<Home> home = by_ancestor(proc, saved, tid);
    return home ? home : by_job(proc, saved, tid);
  };
}

}  // namespace penstock
