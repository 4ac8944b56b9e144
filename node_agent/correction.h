// What a job is predicted to need, once it has been seen to run.
#pragma once

#include <map>

#include "node_agent/job.h"

namespace penstock {

// Sets the `corrected` of each managed job with tasks. Jobs of a share
// (sharers.h) have the costs that all of them have shown together, divided
// between the ranks that use what any of them prepares: together they are to
// need what is prepared once, and which of them does it is chance.
void correct_predictions(std::map<JobId, Job>& jobs);

}  // namespace penstock
