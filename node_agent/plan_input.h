// What the plan is made of: the jobs' records as the planner's input, and
// whether they have changed since.
#pragma once

#include <cstdint>
#include <set>

#include "node_agent/gpu_watch.h"
#include "node_agent/node.h"
#include "node_agent/plan/planner.h"

namespace penstock {

// The input of a plan that no controller takes part in.
PlanInput plan_input(const Node& node, const GpuWatch& gpus);

// The same as if no job were only observed.
PlanInput imagined_input(const Node& node, const GpuWatch& gpus);

// Jobs that suffered from lending lately, or measure themselves.
BarredLenders barred_lenders(const Node& node);

// True if the job differs from what was planned by more than noise.
bool has_changed_enough(const Job& job, const PlanJob& planned);

}  // namespace penstock
