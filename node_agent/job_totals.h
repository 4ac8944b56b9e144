// A job's time and cores on this node, as the history takes them. Pure.
#pragma once

#include <map>

#include "node_agent/job.h"
#include "report/report.h"
#include "select_ext/ctld/messages.h"

namespace penstock {

// report  build_report()'s of that job
// What a penstockd that was started anew did not see is not known.
RunTotals run_totals(const JobReport& report, const Job& job);

// Gives lenders what borrowers have used of lent CPUs since the last call: a
// borrower's time is spread evenly over the CPUs that are lent to it now. To be
// called before loans change.
//   lender_of_cpu  lent CPUs; 0: an idle CPU, of which nobody is the lender
void credit_lenders(const std::map<int, uint64_t>& lender_of_cpu,
                    std::map<JobId, Job>& jobs);

}  // namespace penstock
