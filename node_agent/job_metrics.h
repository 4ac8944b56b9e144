// A job's record as figures for Prometheus. Pure.
#pragma once

#include "node_agent/job.h"
#include "report/metrics.h"

namespace penstock {

// report: build_report()'s of the job now. Raises job.told, which the answer's
// counters are. now_s: CLOCK_MONOTONIC.
JobMetrics job_metrics(Job& job, const JobReport& report, double now_s);

}  // namespace penstock
