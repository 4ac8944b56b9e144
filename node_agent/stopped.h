// Whether a job stands still by somebody's order: its CPUs are idle until it
// goes on, whatever it needed before.
#pragma once

#include "cgroup/backend.h"
#include "cgroup/proc_reader.h"
#include "node_agent/job.h"

namespace penstock {

// All processes of the job that the last scan found are stopped by a signal or
// frozen in their control group: scontrol suspend does both. Those that have
// ended do not count; false where none is left. A job that runs costs three
// reads as a rule.
bool is_stopped(const ProcReader& proc, const Backend& backend, const Job& job);

}  // namespace penstock
