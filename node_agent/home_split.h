// Separates a task's loader and trainer on the CPUs that Slurm gave the task,
// if the user's limit of loader threads is less than their number.
#pragma once

#include <cstdint>
#include <map>
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
  bool has_part(const CpuSet& mask) const {
    return !loader.empty() && (mask == loader || mask == trainer());
  }
};

// Whose choice the CPUs of a split task's threads are. A user may pin a thread
// to exactly the CPUs of one part.
struct SplitThreads {
  std::map<pid_t, bool> ours;  // restricted by apply(); true: to the loader's
  std::set<pid_t> users;       // have a part by their user's choice
};

class HomeSplitter {
 public:
  HomeSplitter(const ProcReader& proc, const ThreadSched& sched)
      : proc_(proc), sched_(sched) {}

  // Restricts each thread of the processes to its side. Skips threads in
  // `skipped` (they are away) and threads with an affinity set by the user. A
  // thread that ends meanwhile is no error. Call again after new threads
  // appear: they inherit their creator's affinity. Updates `threads`.
  void apply(const HomeSplit& split, const std::set<pid_t>& pids,
             const std::set<pid_t>& loader_tids, const std::set<pid_t>& skipped,
             SplitThreads& threads) const;

  // Restores all CPUs for each thread of the task's process tree that apply()
  // restricted, and forgets `threads.ours`.
  void undo(const HomeSplit& split, const TaskId& task,
            SplitThreads& threads) const;

  // The same after penstockd has ended: for each thread that has a part's CPUs
  // and is not in `users`. Does nothing if the split has no loader part.
  void undo_saved(const HomeSplit& split, const TaskId& task,
                  const std::set<pid_t>& users) const;

 private:
  struct Thread {
    pid_t pid = 0;
    pid_t tid = 0;
    CpuSet mask;
  };
  // The threads that have the CPUs of one part.
  std::vector<Thread> in_parts(const HomeSplit& split,
                               const TaskId& task) const;
  bool is_ours(const HomeSplit& split, const Thread& thread,
               const SplitThreads& threads) const;
  bool inherited(const Thread& thread, bool of_loader,
                 const SplitThreads& threads) const;

  const ProcReader& proc_;
  const ThreadSched& sched_;
};

}  // namespace penstock
