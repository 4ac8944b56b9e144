// What no schedule of a trace can be faster than. Pure.
#pragma once

#include <vector>

#include "tools/simulate/placement.h"
#include "tools/simulate/trace.h"

namespace penstock::simulate {

// The fluid bound in seconds: the least time in which the whole cluster's GPUs
// and cores hold all jobs, were jobs divisible at will and all there from the
// start; each runs at points of its measured curve. By linear programming
// duality: the greatest, over how the price of time is divided between GPUs and
// cores, of the sum of what the jobs then pay at least.
double fluid_makespan_s(const std::vector<TraceJob>& trace,
                        const ClusterSize& size);

}  // namespace penstock::simulate
