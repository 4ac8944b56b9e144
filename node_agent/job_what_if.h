// A job's rate as a function of its loader's cores, from its profile and its
// measurements. Pure.
#pragma once

#include "node_agent/job.h"
#include "report/report.h"

namespace penstock {

// The curve of the job's ranks on this node together, assuming equal ranks.
// report: the job's current build_report(), which holds the best known ceiling.
//
// Uses the profile's curve if there is one, otherwise a straight line from the
// CPU cost of a sample. Storage supplies the profile's bandwidth, but at most
// the grant's limit. The interval combines the extremes of the ceiling and of
// the costs.
WhatIfCurve what_if_of(const Job& job, const JobReport& report);

}  // namespace penstock
