#include "select_ext/allocator/objective.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "select_ext/allocator/cluster_answer.h"

namespace penstock::allocator {
namespace {

// Under throughput a job's gain is linear in its level, so its response would
// jump between corners as a price changes. The proximal term (kProximity x
// weight / 2) x (level - centre)^2, subtracted from the gain, makes the
// response continuous. It is 0 where level and centre are equal.
constexpr double kProximity = 0.2;

// Smaller levels count as 0: proportional fairness grants a job a tiny part of
// a resource that is almost used up.
constexpr double kLeastLevel = 1e-12;

Wish at_least(double level, double slope) {
  return level < kLeastLevel ? Wish{} : Wish{level, slope};
}

Wish linear_wish(const JobState& job, const LevelPiece& piece,
                 const Payment& payment) {
  const double stiffness = kProximity * job.weight;
  const double profit = job.weight - marginal_cost(piece, payment);
  return {job.centre + profit / stiffness, -1 / stiffness};
}

Wish fair_wish(const JobState& job, const LevelPiece& piece,
               const Payment& payment) {
  const double cost = marginal_cost(piece, payment);
  return at_least(
      cost > 0 ? job.weight / cost : std::numeric_limits<double>::infinity(),
      -job.weight / (cost * cost));
}

Wish max_min_wish(const JobState& job, const LevelPiece& /*piece*/,
                  const Payment& payment) {
  return at_least(std::min(1 - payment.bytes,
                           std::max(1 - payment.cores, job.coreless_level)),
                  -1);
}

template <auto kWish>
Answer answer_with(const Payment& payment, const JobState& job, double floor) {
  Answer answer;
  double start = 0;
  for (const LevelPiece& piece : job.pieces) {
    const Wish wish = kWish(job, piece, payment);
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

}  // namespace

const Objective* objective_of(Policy policy) {
  static constexpr Objective kThroughput = {
      [](double rate, double ceiling) { return rate / ceiling; }, linear_wish,
      answer_with<linear_wish>, true};
  static constexpr Objective kFair = {
      [](double rate, double /*ceiling*/) { return std::log(rate); }, fair_wish,
      answer_with<fair_wish>, false};
  static constexpr Objective kMaxMin = {nullptr, max_min_wish,
                                        answer_with<max_min_wish>, false};
  switch (policy) {
    case Policy::kThroughput:
      return &kThroughput;
    case Policy::kFair:
      return &kFair;
    case Policy::kMaxMin:
      return &kMaxMin;
    case Policy::kEven:
      break;
  }
  return nullptr;
}

}  // namespace penstock::allocator
