#include "node_agent/loader_separation.h"

#include "common/options.h"

namespace penstock {

void LoaderSeparation::decide(Job& job, Task& task) const {
  if (job.options.threads == 0 || !node_.acts_for(job)) return;
  bool shared = false;
  for (auto& [id, other_job] : node_.registry.jobs()) {
    if (other_job.loan.gives_way) continue;
    for (auto& [pid, other] : other_job.tasks) {
      // A batch script shares its CPUs with the steps that it starts.
      const bool of_script =
          id == job.id && (is_batch(task) || is_batch(other));
      if (&other == &task || of_script) continue;
      if ((other.home.affinity & task.home.affinity).empty()) continue;
      shared = true;
      give_up(other);
    }
  }
  if (shared) {
    job.note(option_flag(kOptionThreads) +
             ": its tasks share CPUs; loaders and trainers are not kept apart");
    return;
  }
  task.loader_cpus = loader_part(task.home.affinity, job.options.threads,
                                 node_.machine.topology.core_of_cpu);
}

void LoaderSeparation::keep_apart(Task& task) const {
  if (task.loader_cpus.empty()) return;
  // Without a loader, as between epochs, the trainer may use all CPUs.
  if (task.units.empty()) return put_together(task);
  std::set<pid_t> loaders;
  std::set<pid_t> away;
  for (const Unit& unit : task.units) {
    for (const LoaderThread& thread : unit.threads) {
      (unit.away ? away : loaders).insert(thread.home.task.tid);
    }
  }
  const std::set<pid_t> users = task.split_threads.users;
  splitter_.apply({task.home.affinity, task.loader_cpus}, task.processes,
                  loaders, away, task.split_threads);
  // The guardian must know which threads to leave alone.
  if (task.split_threads.users != users) node_.save_state();
}

void LoaderSeparation::put_together(Task& task) const {
  if (task.loader_cpus.empty()) return;
  const HomeSplit split{task.home.affinity, task.loader_cpus};
  splitter_.undo(split, task.id, task.split_threads);
  // Away threads will return to all CPUs.
  for (Unit& unit : task.units) {
    for (LoaderThread& thread : unit.threads) {
      CpuSet& mask = thread.home.affinity;
      const pid_t tid = thread.home.task.tid;
      if (task.split_threads.users.contains(tid)) continue;
      if (split.has_part(mask)) mask = split.cpus;
    }
  }
}

void LoaderSeparation::give_up(Task& task) const {
  put_together(task);
  task.loader_cpus = CpuSet();
}

void LoaderSeparation::undo(const SavedTask& task) const {
  splitter_.undo_saved({task.home.affinity, task.loader_cpus}, task.home.task,
                       task.pinned_tids);
}

}  // namespace penstock
