// What the solvers have to know of a policy. Internal to the allocator.
#pragma once

#include "common/policy.h"
#include "select_ext/allocator/cluster_state.h"

namespace penstock::allocator {

// The level at which the marginal gain equals the marginal cost, and its
// derivative.
struct Wish {
  double level = 0;
  double slope = 0;
};

// A job's response to a payment.
struct Answer {
  double level = 0;
  double cores = 0;  // of a rank with core factor 1
  // Derivatives; 0 where the level stays at an end of a piece or at the floor.
  double level_per_payment = 0;
  double cores_per_level = 0;
};

struct Objective {
  // What a job with weight 1 adds to the objective at a rate over 0. nullptr:
  // the objective is the least rate / ceiling instead of a sum. It then has no
  // dual, and a job pays the highest price instead of the sum of prices.
  double (*gain)(double rate, double ceiling);
  // A job's response to prices, on one piece.
  Wish (*wish)(const JobState& job, const LevelPiece& piece,
               const Payment& payment);
  // The response over all pieces, at least the floor. A function of the table,
  // because a call of `wish` for each piece took 14% more instructions.
  Answer (*answer)(const Payment& payment, const JobState& job, double floor);
  // The gain is linear in the rate, so wishes need the proximal term.
  bool is_linear;

  bool is_sum() const { return gain != nullptr; }
};

// nullptr: the policy lends nothing.
const Objective* objective_of(Policy policy);

inline double marginal_cost(const LevelPiece& piece, const Payment& payment) {
  return payment.cores * piece.cores_per_level + payment.bytes;
}

}  // namespace penstock::allocator
