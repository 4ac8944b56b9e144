// A sampling period of a job as a point of its course. Pure.
#pragma once

#include <cstdint>

#include "node_agent/job.h"

namespace penstock {

// Appends what job.totals have gained since job.sampled to job.course. What a
// job that reports did meanwhile its next batch tells (Course::tell()).
//   period_s  since the last call
//   now_ns    CLOCK_MONOTONIC
void record_period(Job& job, double period_s, uint64_t now_ns);

}  // namespace penstock
