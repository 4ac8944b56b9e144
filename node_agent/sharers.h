// Jobs that prepare their batches together (docs/staging.md).
#pragma once

#include <map>

#include "node_agent/job.h"

namespace penstock {

// Sets each job's `sharers`, `share` and `most_sharers` by what its pages last
// said. A rank that has used nothing for a minute while others did, or has
// ended, or is stopped, does not share. A number is believed among the jobs of
// one user only: what they are planned to need is divided between them, and no
// other user's changes.
void count_sharers(std::map<JobId, Job>& jobs);

}  // namespace penstock
