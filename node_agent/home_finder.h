// Where a stray thread belongs, from the saved tasks: for the sweep after a
// crash, when no record of single threads is left.
#pragma once

#include <vector>

#include "cgroup/backend.h"
#include "node_agent/state_file.h"

namespace penstock {

// The returned function gives the home of the task that the thread descends
// from, else of one of the job that it is in (by the group that Slurm tracks it
// by), then with every CPU of that job's. proc and backend outlive it.
FindHome home_finder(const ProcReader& proc, const Backend& backend,
                     std::vector<SavedTask> saved);

}  // namespace penstock
