// Separates a task's loader and trainer on the CPUs that Slurm gave the task,
// if the user's limit of loader threads is less than their number.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "cgroup/proc_reader.h"
#include "cgroup/thread_sched.h"
#include "common/units.h"

namespace penstock {

// The loader's part: `threads` of the task's CPUs, keeping siblings of a
// physical core together. Empty if the trainer would have no CPU left, or if
// threads is 0 (option not given). Pure.
//   core_of_cpu  index: CPU; CPUs beyond its end are cores of their own
CpuSet loader_part(const CpuSet& cpus, uint32_t threads,
                   const std::vector<int>& core_of_cpu);

// A task whose CPUs are split.
struct HomeSplit {
  CpuSet cpus;    // all CPUs that Slurm gave
  CpuSet loader;  // the loader's part; empty: not split
  CpuSet trainer() const { return cpus - loader; }
};

class HomeSplitter {
 public:
  HomeSplitter(const ProcReader& proc, const ThreadSched& sched)
      : proc_(proc), sched_(sched) {}

  // Restricts each thread of the processes to its side. Skips threads in
  // `skipped` (they are away) and threads with an affinity set by the user. A
  // thread that ends meanwhile is no error. Call again after new threads
  // appear: they inherit their creator's affinity.
  void apply(const HomeSplit& split, const std::set<pid_t>& pids,
             const std::set<pid_t>& loader_tids,
             const std::set<pid_t>& skipped) const;

  // Restores all CPUs for each thread of the task's process tree that apply()
  // restricted. Does nothing if the split has no loader part.
  void undo(const HomeSplit& split, const TaskId& task) const;

 private:
  const ProcReader& proc_;
  const ThreadSched& sched_;
};

}  // namespace penstock
