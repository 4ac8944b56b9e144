#include "cgroup/v2_restore.h"

#include "cgroup/backend_parts.h"
#include "cgroup/v2_cpusets.h"
#include "cgroup/v2_io.h"
#include "cgroup/v2_limit.h"
#include "cgroup/v2_loan.h"
#include "cgroup/v2_task_groups.h"
#include "common/clock.h"

namespace penstock {
namespace {

// Brings home the threads in the task's loader group. A thread unknown to
// find_home gets every CPU of its task. A task may have tens of thousands of
// threads there: after kMove_ns the rest is left to remove_task_groups(), which
// moves whole processes.
void empty_task(const V2Tree& tree, const std::string& task,
                const FindHome& find_home) {
  const std::string loader = tree.loader_dir(task);
  auto away = tree.threads_in(loader);
  if (!away) return;
  const uint64_t until_ns = monotonic_ns() + kMove_ns;
  for (pid_t tid : *away) {
    if (monotonic_ns() > until_ns) return;
    // The tid may have been reused since the listing.
    auto now = read_thread(*tree.proc, *tree.sched, TaskId{tid, 0});
    if (!now || now->groups[""] != loader) continue;
    Home home{now->id, task, task, task, CpuSet{}, SchedPolicy{}, ""};
    if (const auto found = verified_home(tid, find_home, *tree.proc)) {
      home.affinity = found->affinity;
    }
    (void)tree.bring_home(home);
  }
}

}  // namespace

Status restore_job(const V2Tree& tree, const std::string& job,
                   const FindHome& find_home) {
  std::vector<std::string> levels = {job}, tasks;
  Status first = Done{};
  for (const std::string& step : tree.dirs_in(job, first)) {
    levels.push_back(step);
    levels.push_back(step + "/user");
    for (std::string& task : tree.dirs_in(step + "/user", first)) {
      tasks.push_back(std::move(task));
    }
  }
  levels.insert(levels.end(), tasks.begin(), tasks.end());
  const auto keep = [&first](Status step) {
    note_first(first, unless_gone(std::move(step)));
  };
  // Narrow the cpusets first: threads must not come home to lent CPUs.
  for (const std::string& level : levels) {
    if (tree.fs->read_mark(level, tree.mark(".cpus"))) {
      keep(widen(tree, level, CpuSet()));
    }
  }
  for (const std::string& task : tasks) {
    if (!tree.fs->exists(tree.home_dir(task))) continue;
    empty_task(tree, task, find_home);
    keep(remove_task_groups(tree, task));
  }
  keep(restore_weight(tree, job));
  keep(restore_cpu_limit(tree, job));
  keep(lift_io_limits(tree, job));
  if (first) keep(tree.fs->remove_mark(job, tree.mark(".job")));
  return first;
}

}  // namespace penstock
