// How a job responds to prices. Pure. Internal to the allocator; docs/model.md,
// "Pricing".
#pragma once

#include "select_ext/allocator/cluster_state.h"

namespace penstock::allocator {

// A job's response to a payment.
struct Answer {
  double level = 0;
  double cores = 0;  // of a rank with core factor 1
  // Derivatives; 0 where the level stays at an end of a piece or at the floor.
  double level_per_payment = 0;
  double cores_per_level = 0;
};

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
Payment pay_also(const ClusterState& state, Payment others, const Link& link,
                 double price);

Answer answer_to(const Payment& payment, const JobState& job, double floor,
                 const Objective& objective);
// At the present prices.
double answered_level(const ClusterState& state, const JobState& job);
// The level that the job would choose without the proximal term.
double free_level(const ClusterState& state, const JobState& job);
// Gain at `level` less the payment for it, at the present prices.
double surplus(const JobState& job, double level, const Objective& objective);

}  // namespace penstock::allocator
