// Brings all resources back into their bands: block-coordinate descent on the
// dual with a proximal term, whose centres follow the levels. Internal to the
// allocator.
#pragma once

#include "select_ext/allocator/cluster_state.h"

namespace penstock::allocator {

// Ends after a bounded number of rounds with a feasible solution, which the
// next call may improve.
void settle(ClusterState& state);

}  // namespace penstock::allocator
