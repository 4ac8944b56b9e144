// Jobs that prepare their batches together (docs/staging.md).
#pragma once

#include <map>

#include "node_agent/job.h"

namespace penstock {

// Sets each job's `sharers`, `share` and `most_sharers` by what its pages last
// said. A number is believed among the jobs of one user only, and makes what
// they are planned to need smaller, never larger.
void count_sharers(std::map<JobId, Job>& jobs);

}  // namespace penstock
