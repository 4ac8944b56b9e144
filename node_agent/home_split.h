// Keeps a task's loader and trainer on CPUs of their own, within those that
// Slurm gave the task, where --loader-threads=N asks for fewer than these.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "cgroup/proc_reader.h"
#include "cgroup/thread_sched.h"
#include "common/units.h"

namespace penstock {

// The loader's part: `threads` of the task's CPUs, siblings of one physical
// core together. Empty where the trainer would have none left, or threads is 0
// (the user has not asked). Pure.
//   core_of_cpu  index: CPU; shorter than needed: every CPU is a core
CpuSet loader_part(const CpuSet& cpus, uint32_t threads,
                   const std::vector<int>& core_of_cpu);

// A task whose CPUs are split.
struct HomeSplit {
  CpuSet cpus;    // all, as Slurm gave them
  CpuSet loader;  // of them; empty: not split
  CpuSet trainer() const { return cpus - loader; }
};

class HomeSplitter {
 public:
  HomeSplitter(const ProcReader& proc, const ThreadSched& sched)
      : proc_(proc), sched_(sched) {}

  // Puts every thread of the processes on its side; those in skipped (they are
  // away) and those that somebody gave a mask of their own are left alone. A
  // thread that ends meanwhile is no error. To be repeated when there are new
  // ones: a thread is born with the mask of its maker.
  void apply(const HomeSplit& split, const std::set<pid_t>& pids,
             const std::set<pid_t>& loader_tids,
             const std::set<pid_t>& skipped) const;

  // Gives all CPUs back to every thread of the task's process tree that apply()
  // has put on a side; nothing where split has no loader's part.
  void undo(const HomeSplit& split, const TaskId& task) const;

 private:
  const ProcReader& proc_;
  const ThreadSched& sched_;
};

}  // namespace penstock
