// Taking everything back before the process that did it ends.
#pragma once

#include "cgroup/backend.h"

namespace penstock {

// Sweeps with nobody alive. Groups that are busy, with threads on their way out
// or with more processes than can be moved at once, are tried again for 5 s.
// Errors: the last sweep's.
[[nodiscard]] Status last_sweep(Backend& backend, const FindHome& find_home);

}  // namespace penstock
