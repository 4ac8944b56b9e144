// Which parts of a job's report are of its last run. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "report/report.h"

namespace penstock {

// Keeps the parts of the job's last run: of each node the latest part (of equal
// starts the last update, of equal updates the first one), if it overlaps the
// time of the latest of all; a note of the latest names the nodes of others.
// Parts of another user, or another job, than the latest one are left out.
//   clock_ahead_s  by how much nodes' clocks are ahead of a common one, if
//                  their parts came at once. Times by a clock that is over a
//                  minute ahead are corrected; by one that is behind, if the
//                  part would be left out else. Not used if a part's node is
//                  missing.
std::vector<JobReport> parts_of_last_run(
    std::vector<JobReport> parts,
    std::map<std::string, double> clock_ahead_s = {});

}  // namespace penstock
