// How jobs respond to prices.
#include <algorithm>

#include "select_ext/allocator/objective.h"

namespace penstock::allocator {

double ClusterState::floor_of(const JobState& job) const {
  double floor = job.core_floor;
  for (const Link& link : job.links) {
    if (is_cores(link.resource)) break;
    const Resource& resource = resources[link.resource];
    floor = std::min(floor,
                     job.level_per_byte * resource.capacity / resource.ranks);
  }
  return floor;
}

double ClusterState::cores_at_level(const JobState& job, double level) {
  for (const LevelPiece& piece : job.pieces) {
    if (level > piece.end_level) continue;
    return piece.end_cores - piece.cores_per_level * (piece.end_level - level);
  }
  return job.pieces.back().end_cores;
}

double ClusterState::use(const JobState& job, const Link& link,
                         double level) const {
  return link.scale *
         (is_cores(link.resource) ? cores_at_level(job, level) : level);
}

Payment ClusterState::pay_also(Payment others, const Link& link,
                               double price) const {
  double& paid = is_cores(link.resource) ? others.cores : others.bytes;
  paid =
      objective->is_sum() ? paid + link.scale * price : std::max(paid, price);
  return others;
}

// Summed from scratch each time. A running sum would keep the rounding error of
// a price that was high for a moment.
Payment ClusterState::payment_of(const JobState& job) const {
  Payment payment;
  for (const Link& link : job.links) {
    payment = pay_also(payment, link, resources[link.resource].price);
  }
  return payment;
}

Payment ClusterState::payment_without(const JobState& job,
                                      const Link& skipped) const {
  const double price = resources[skipped.resource].price;
  Payment payment = job.payment;
  if (!objective->is_sum()) {
    payment = {};
    for (const Link& link : job.links) {
      if (&link == &skipped) continue;
      payment = pay_also(payment, link, resources[link.resource].price);
    }
  } else if (is_cores(skipped.resource)) {
    payment.cores = std::max(0.0, payment.cores - skipped.scale * price);
  } else {
    payment.bytes = std::max(0.0, payment.bytes - skipped.scale * price);
  }
  return payment;
}

Answer ClusterState::answer(const JobState& job, const Payment& payment,
                            double floor) const {
  Answer answer;
  double start = 0;
  for (const LevelPiece& piece : job.pieces) {
    const Wish wish = objective->wish(job, piece, payment);
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

double ClusterState::free_level(const JobState& job,
                                const Payment& payment) const {
  double level = 0;
  for (const LevelPiece& piece : job.pieces) {
    const double cost = marginal_cost(piece, payment);
    if (!objective->is_linear) {
      const double wish = objective->wish(job, piece, payment).level;
      if (wish > level) level = std::min(wish, piece.end_level);
      if (wish < piece.end_level) break;
    } else {
      if (cost > job.weight) break;
      level = piece.end_level;
    }
  }
  return std::max(level, floor_of(job));
}

double ClusterState::surplus(const JobState& job, const Payment& payment,
                             double level) const {
  return job.weight * objective->gain(level, 1) -
         payment.cores * cores_at_level(job, level) - payment.bytes * level;
}

}  // namespace penstock::allocator
