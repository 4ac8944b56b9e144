// Finds the home of a stray thread from the saved tasks, for the sweep after a
// crash, when no per-thread records are left.
#pragma once

#include <vector>

#include "cgroup/backend.h"
#include "node_agent/state_file.h"

namespace penstock {

// The returned function gives the home of the task that is an ancestor of the
// thread, else of a task of the thread's job (by Slurm's tracking group). In
// the second case the affinity is empty, which stands for all of the group's
// CPUs. proc and backend must outlive the function.
FindHome home_finder(const ProcReader& proc, const Backend& backend,
                     std::vector<SavedTask> saved);

}  // namespace penstock
