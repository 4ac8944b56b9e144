// Converts a job's record to figures for Prometheus. Pure.
#pragma once

#include "node_agent/job.h"
#include "report/metrics.h"

namespace penstock {

// report: the job's current build_report(). Raises job.told to the job's
// current counters, without letting any decrease, and returns it in the
// metrics.
//
// now_s: CLOCK_MONOTONIC.
JobMetrics job_metrics(Job& job, const JobReport& report, double now_s);

}  // namespace penstock
