// A job's rate against the cores of its loader, from its profile and from what
// was measured of it. Pure.
#pragma once

#include "node_agent/job.h"
#include "report/report.h"

namespace penstock {

// Of the job's ranks on the node together, one like the other. report:
// build_report()'s of the job now, whose best known ceiling it has. Where the
// profile has a curve it is that curve, else a straight line at the cost of a
// sample; storage supplies what the profile says, and the grant's limit at
// most. Its interval has the ceiling's and the costs' ends, all at once.
WhatIfCurve what_if_of(const Job& job, const JobReport& report);

}  // namespace penstock
