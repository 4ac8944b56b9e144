// Whether a job stands still by somebody's order: its CPUs are idle until it
// goes on, whatever it needed before.
#pragma once

#include "cgroup/proc_reader.h"
#include "node_agent/job.h"

namespace penstock {

// All processes of the job that the last scan found are stopped by a signal, as
// scontrol suspend stops them. Those that have ended do not count; false where
// none is left. A job that runs costs one read as a rule.
bool is_stopped(const ProcReader& proc, const Job& job);

}  // namespace penstock
