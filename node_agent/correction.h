// What a job is predicted to need, once it has been seen to run.
#pragma once

#include <map>

#include "node_agent/job.h"

namespace penstock {

// Sets the `corrected` of each managed job with tasks by what was sampled of it
// and, as `share` says, of the user's jobs that prepare its batches with it: a
// batch costs them all the same, and which of them prepares it is chance.
void correct_predictions(std::map<JobId, Job>& jobs);

}  // namespace penstock
