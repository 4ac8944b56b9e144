// Finds prices. Pure. Internal to the allocator; docs/model.md, "Pricing".
#pragma once

#include <vector>

#include "select_ext/allocator/cluster_state.h"

namespace penstock::allocator {

struct Price {
  double price = 0;
  double least_use = 0;  // Resource::least_use
};
// The price at which the resource's use reaches its band, at the present prices
// of the others.
Price find_price(const ClusterState& state, int resource);

// New prices of `resources` after one Newton step for all of them together,
// where single prices converge slowly. Empty: no step is possible.
// REQUIRES: not max-min, which has no dual.
std::vector<double> step_together(const ClusterState& state,
                                  const std::vector<int>& resources);

}  // namespace penstock::allocator
