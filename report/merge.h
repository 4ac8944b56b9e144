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
// REQUIRES: one part or more, of one run of the job (see parts_of_last_run()).
JobReport merge_reports(std::vector<JobReport> parts);

// Keeps the parts of the job's last run: of each node the latest part (of equal
// starts the last update, of equal updates the first one), if it overlaps the
// time of the latest of all; a note of the latest names the nodes of others.
// Parts of another user, or another job, than the latest one are left out.
std::vector<JobReport> parts_of_last_run(std::vector<JobReport> parts);

}  // namespace penstock
