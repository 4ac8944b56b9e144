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

Payment pay_also(const ClusterState& state, Payment others, const Link& link,
                 double price) {
  double& paid = state.is_cores(link.resource) ? others.cores : others.bytes;
  paid = state.objective->is_sum() ? paid + link.scale * price
                                   : std::max(paid, price);
  return others;
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

Answer answer_to(const Payment& payment, const JobState& job, double floor,
                 const Objective& objective) {
  Answer answer;
  double start = 0;
  for (const LevelPiece& piece : job.pieces) {
    const Wish wish = objective.wish(job, piece, payment);
    answer.level = std::clamp(wish.level, start, piece.end_level);
    answer.cores = piece.end_cores -
                   piece.cores_per_level * (piece.end_level - answer.level);
    answer.cores_per_level = piece.cores_per_level;
    answer.level_per_payment =
        answer.level > start && answer.level < piece.end_level ? wish.slope : 0;
    if (wish.level < piece.end_level) break;
    start = piece.end_level;
  }
  if (answer.level < floor) {
    answer.level = floor;
    answer.cores = cores_at_level(job, floor);
    answer.level_per_payment = 0;
  }
  return answer;
}

double answered_level(const ClusterState& state, const JobState& job) {
  return answer_to(job.payment, job, floor_of(state, job), *state.objective)
      .level;
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
