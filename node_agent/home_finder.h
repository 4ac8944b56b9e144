// Where a stray thread belongs, from the saved tasks: for the sweep after a
// crash, when no record of single threads is left.
#pragma once

#include <vector>

#include "cgroup/backend.h"
#include "node_agent/state_file.h"

namespace penstock {

// The returned function gives the home of the task that the thread descends
// from, else of one of the job that it is in (by its freezer group), then with
// every CPU of that job's. proc outlives it.
FindHome home_finder(const ProcReader& proc, std::vector<SavedTask> saved);

}  // namespace penstock
