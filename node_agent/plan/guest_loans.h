// What guests are lent: CPUs that all other jobs, the residents, leave. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "node_agent/plan/planner.h"
#include "select_ext/allocator/problem.h"

namespace penstock {

// The cores that a guest could use, its own included. Its threads can be of any
// number: the wish follows its use, and doubles while it uses all that it has.
double guest_wish(const PlanJob& guest);

// The rounding that lends to guests what the residents leave: their CPUs that
// are not lent yet, less what they use themselves. A CPU that is lent in part
// has nothing left, so that no guest disturbs its borrower.
//   guests     places in PlanInput::jobs
//   lent       CPUs lent to residents, of all groups
//   residents  the rounding of those who may lend to these guests
allocator::RoundingInput rounding_for_guests(
    const PlanInput& input, const std::vector<size_t>& guests,
    const CpuSet& lent, allocator::RoundingInput residents);

}  // namespace penstock
