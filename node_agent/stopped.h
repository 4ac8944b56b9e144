// Detects suspended jobs. Their CPUs are idle until they continue, whatever
// they needed before.
#pragma once

#include "cgroup/backend.h"
#include "cgroup/proc_reader.h"
#include "node_agent/job.h"

namespace penstock {

// True if all processes of the job in the last scan are stopped by a signal or
// frozen in their control group; `scontrol suspend` does both. Ended processes
// do not count; false if none is left. A running job usually costs three reads.
bool is_stopped(const ProcReader& proc, const Backend& backend, const Job& job);

}  // namespace penstock
