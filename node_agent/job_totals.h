// A job's times and core-seconds on this node, in the history's format. Pure.
#pragma once

#include <map>

#include "node_agent/job.h"
#include "report/report.h"
#include "wire/messages.h"

namespace penstock {

// report  the job's build_report()
// After a restart of penstockd the core-seconds are unknown.
RunTotals run_totals(const JobReport& report, const Job& job);

// Credits lenders with the CPU time that borrowers have used since the last
// call. A borrower's time is spread evenly over the CPUs lent to it now. Call
// before loans change.
//   lender_of_cpu  lent CPUs; 0: an idle CPU, which has no lender
void credit_lenders(const std::map<int, uint64_t>& lender_of_cpu,
                    std::map<JobId, Job>& jobs);

}  // namespace penstock
