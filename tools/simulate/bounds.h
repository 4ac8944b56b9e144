// Lower bounds on the makespan of any schedule of a trace. Pure.
#pragma once

#include <vector>

#include "tools/simulate/placement.h"
#include "tools/simulate/trace.h"

namespace penstock::simulate {

// The fluid bound in seconds: the least time in which the cluster's GPUs and
// cores could do all work. Jobs are divisible, all there from the start, and
// run at points of their measured curves. By linear programming duality it is a
// maximum over the split of the price of time between GPUs and cores. The
// maximised value is the sum of the jobs' minimum payments.
double fluid_makespan_s(const std::vector<TraceJob>& trace,
                        const ClusterSize& size);

}  // namespace penstock::simulate
