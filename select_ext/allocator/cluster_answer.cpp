#include "select_ext/allocator/cluster_answer.h"

#include <algorithm>

#include "select_ext/allocator/objective.h"

namespace penstock::allocator {

double floor_of(const ClusterState& state, const JobState& job) {
  double floor = job.core_floor;
  for (const Link& link : job.links) {
    if (state.is_cores(link.resource)) break;
    const Resource& resource = state.resources[link.resource];
    floor = std::min(floor,
                     job.level_per_byte * resource.capacity / resource.ranks);
  }
  return floor;
}

double cores_at_level(const JobState& job, double level) {
  for (const LevelPiece& piece : job.pieces) {
    if (level > piece.end_level) continue;
    return piece.end_cores - piece.cores_per_level * (piece.end_level - level);
  }
  return job.pieces.back().end_cores;
}

double use_at_level(const ClusterState& state, const JobState& job,
                    const Link& link, double level) {
  return link.scale *
         (state.is_cores(link.resource) ? cores_at_level(job, level) : level);
}

// Summed from scratch each time. A running sum would keep the rounding error of
// a price that was high for a moment.
Payment payment_of(const ClusterState& state, const JobState& job) {
  Payment payment;
  for (const Link& link : job.links) {
    payment =
        pay_also(state, payment, link, state.resources[link.resource].price);
  }
  return payment;
}

Payment payment_without(const ClusterState& state, const JobState& job,
                        const Link& skipped) {
  const double price = state.resources[skipped.resource].price;
  Payment payment = job.payment;
  if (!state.objective->is_sum()) {
    payment = {};
    for (const Link& link : job.links) {
      if (&link == &skipped) continue;
      payment =
          pay_also(state, payment, link, state.resources[link.resource].price);
    }
  } else if (state.is_cores(skipped.resource)) {
    payment.cores = std::max(0.0, payment.cores - skipped.scale * price);
  } else {
    payment.bytes = std::max(0.0, payment.bytes - skipped.scale * price);
  }
  return payment;
}

double answered_level(const ClusterState& state, const JobState& job) {
  return state.objective->answer(job.payment, job, floor_of(state, job)).level;
}

double free_level(const ClusterState& state, const JobState& job) {
  double level = 0;
  for (const LevelPiece& piece : job.pieces) {
    const double cost = marginal_cost(piece, job.payment);
    if (!state.objective->is_linear) {
      const double wish = state.objective->wish(job, piece, job.payment).level;
      if (wish > level) level = std::min(wish, piece.end_level);
      if (wish < piece.end_level) break;
    } else {
      if (cost > job.weight) break;
      level = piece.end_level;
    }
  }
  return std::max(level, floor_of(state, job));
}

double surplus(const JobState& job, double level, const Objective& objective) {
  return job.weight * objective.gain(level, 1) -
         job.payment.cores * cores_at_level(job, level) -
         job.payment.bytes * level;
}

}  // namespace penstock::allocator
