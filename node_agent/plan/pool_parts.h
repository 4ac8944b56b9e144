// How a plan divides the bandwidth of pools. Pure.
#pragma once

#include <vector>

#include "node_agent/plan/planner.h"

namespace penstock {

// Each job's part of its pool, bytes/s; 0: it has none, or is a guest.
std::vector<double> pool_entitlements(const PlanInput& input);

// The bandwidth of each pool, bytes/s; of a pool shared by nodes at least what
// its jobs here are guaranteed.
//   floor_bytes  that each job's floor takes, bytes/s
std::vector<double> pools_that_hold(const PlanInput& input,
                                    const std::vector<double>& entitled,
                                    const std::vector<double>& floor_bytes);

// Adds to the grants' limits what is left of each pool.
void share_bandwidth(const PlanInput& input,
                     const std::vector<double>& entitled, Plan& plan);

// Lowers the grants' limits to what the users allow.
void apply_user_bandwidth(const PlanInput& input, Plan& plan);

}  // namespace penstock
