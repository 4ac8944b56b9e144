// One report of a job over all of its nodes. Pure.
#pragma once

#include <vector>

#include "report/report.h"

namespace penstock {

// Returns the job's report from the reports of its nodes, in any order; a
// single one as it is. Rates, cores and counts are sums, times are averages
// over the ranks. The grant changes and the shape of the what-if curve are of
// the slowest node: the one whose ranks wait longest for data, as all others
// wait for it. `nodes` lists all nodes by name.
//
// Clocks of nodes may differ: the job lasts as long as its longest part.
// REQUIRES: one part or more, of one run of the job (see last_run.h).
JobReport merge_reports(std::vector<JobReport> parts);

}  // namespace penstock
