// Finds the jobs that prepare their batches together (docs/staging.md).
#pragma once

#include <map>

#include "node_agent/job.h"

namespace penstock {

// Sets each job's `sharers`, `share` and `most_sharers` from its progress
// pages. A rank is left out if it has used nothing for a minute while others
// did, has ended, or is stopped.
//
// A share's number is valid only among jobs of one user: sharing divides the
// planned needs, and must not change another user's.
void count_sharers(std::map<JobId, Job>& jobs);

}  // namespace penstock
