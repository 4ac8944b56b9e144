// Removes loans that would harm somebody from a plan. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "node_agent/plan/planner.h"

namespace penstock {

// True if CPUs of the lender (0: idle CPUs) may be lent to the plan's job with
// this index.
using MayLend = std::function<bool(uint64_t lender, size_t borrower)>;

// Drops the loans that may not be, and reduces their borrowers' grants.
void drop_loans(Plan& plan, const MayLend& may_lend);

}  // namespace penstock
