// Converts a job's sampling period to a point of its course. Pure.
#pragma once

#include <cstdint>

#include "node_agent/job.h"

namespace penstock {

// Appends the difference between job.totals and job.sampled to job.course. For
// a job with progress pages, the next batch completes the point
// (Course::tell()).
//   period_s  time since the last call
//   now_ns    CLOCK_MONOTONIC
void record_period(Job& job, double period_s, uint64_t now_ns);

}  // namespace penstock
