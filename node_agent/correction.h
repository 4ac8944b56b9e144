// Predicted needs of jobs, corrected by measurements.
#pragma once

#include <map>

#include "node_agent/job.h"

namespace penstock {

// Sets `corrected` of each managed job with tasks. Jobs that prepare their
// batches together (sharers.h) get their common measured costs, divided by the
// number of ranks that use the batches. Their needs then add up to the cost of
// preparing each batch once. Which job prepares a batch is chance.
void correct_predictions(std::map<JobId, Job>& jobs);

// Keeps the first corrected ceiling for the report, once the job has run for
// 10 s. now_ns: CLOCK_MONOTONIC.
void note_first_ceiling(Job& job, uint64_t now_ns);

}  // namespace penstock
