// How a job responds to prices. Pure. Internal to the allocator; docs/model.md,
// "Pricing".
#pragma once

#include <algorithm>

#include "select_ext/allocator/cluster_state.h"
#include "select_ext/allocator/objective.h"

namespace penstock::allocator {

double floor_of(const ClusterState& state, const JobState& job);

// Cores of one rank.
double cores_at_level(const JobState& job, double level);
// Of the link's resource.
double use_at_level(const ClusterState& state, const JobState& job,
                    const Link& link, double level);

Payment payment_of(const ClusterState& state, const JobState& job);
Payment payment_without(const ClusterState& state, const JobState& job,
                        const Link& skipped);
// `others`, and the link's resource at `price`.
inline Payment pay_also(const ClusterState& state, Payment others,
                        const Link& link, double price) {
  const auto pay = [&](double paid) {
    return state.objective->is_sum() ? paid + link.scale * price
                                     : std::max(paid, price);
  };
  // No reference to one of the two: it would keep the sums in memory.
  if (state.is_cores(link.resource)) {
    others.cores = pay(others.cores);
  } else {
    others.bytes = pay(others.bytes);
  }
  return others;
}

// At the present prices.
double answered_level(const ClusterState& state, const JobState& job);
// The level that the job would choose without the proximal term.
double free_level(const ClusterState& state, const JobState& job);
// Gain at `level` less the payment for it, at the present prices.
double surplus(const JobState& job, double level, const Objective& objective);

}  // namespace penstock::allocator
