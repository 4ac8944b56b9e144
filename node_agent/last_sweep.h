// The final sweep before the process that made the groups exits.
#pragma once

#include "cgroup/backend.h"

namespace penstock {

// Sweeps the groups of all jobs. Retries for 5 s while groups are busy, because
// their threads are exiting or their processes are too many for one move.
// Blocks meanwhile.
// Errors: those of the last sweep.
[[nodiscard]] Status last_sweep(Backend& backend, const FindHome& find_home);

}  // namespace penstock
