// Two resources with nearly the same jobs pass a change back and forth, and it
// shrinks little each time. The dual is convex and smooth, so Newton's
// direction descends. The minimum along that line is where the use, weighted by
// the moves, reaches its target.
#include <Eigen/Core>
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "select_ext/allocator/cluster_answer.h"
#include "select_ext/allocator/cluster_price.h"

namespace penstock::allocator {
namespace {

using Eigen::VectorXd;

constexpr int kDoublings = 30;
constexpr int kBisections = 10;
// A share of each price's own curvature, added to it. Without it, two resources
// with exactly the same jobs would make the matrix singular.
constexpr double kRidge = 1e-9;
constexpr int kIterations = 50;
constexpr double kResidual = 1e-6;

// The prices that moved, and the jobs that pay them.
class MovingPrices {
 public:
  MovingPrices(const ClusterState& state, std::vector<int> resources)
      : state_(state), resources_(std::move(resources)) {
    std::unordered_map<int, size_t> index_of_slot;
    for (size_t r = 0; r < resources_.size(); ++r) {
      for (const Member& member : resource(r).members) {
        const auto [found, is_new] =
            index_of_slot.emplace(member.job, bidders_.size());
        const JobState& job = state_.jobs[member.job];
        if (is_new) bidders_.push_back(bidder_of(job));
        bidders_[found->second].bids.push_back(
            {int(r), job.links[member.link].scale});
      }
    }
  }

  const Resource& resource(size_t r) const {
    return state_.resources[resources_[r]];
  }
  bool is_cores(int r) const { return state_.is_cores(resources_[r]); }

  // By resource, the change of prices that would bring each use to its target
  // if the jobs' responses were linear. Conjugate gradients, because a job may
  // have a hundred nodes and so a dense block of the matrix.
  VectorXd newton() const {
    VectorXd over = over_target();
    const VectorXd own = own_curvatures(over);
    for (int r = 0; r < over.size(); ++r) {
      if (own[r] == 0) over[r] = 0;
    }
    const VectorXd scale = (own.array() > 0).select(own.cwiseInverse(), 0);
    VectorXd moves = VectorXd::Zero(over.size());
    VectorXd scaled = over.cwiseProduct(scale);
    VectorXd direction = scaled;
    double rest = over.dot(scaled);
    const double enough = kResidual * kResidual * rest;
    for (int i = 0; i < kIterations && rest > enough; ++i) {
      const VectorXd curved = curvature_times(direction, scale);
      const double length = rest / direction.dot(curved);
      moves += length * direction;
      over -= length * curved;
      scaled = over.cwiseProduct(scale);
      const double last = std::exchange(rest, over.dot(scaled));
      direction = scaled + rest / last * direction;
    }
    for (int r = 0; r < moves.size(); ++r) {
      if (resource(r).price == 0) moves[r] = std::max(0.0, moves[r]);
    }
    return moves;
  }

  // Use over its target, weighted by each price's move: negative beyond the
  // minimum of the dual along `moves`. Never rises with `steps`.
  double excess(const VectorXd& moves, double steps) const {
    double sum = 0;
    for (int r = 0; r < moves.size(); ++r) sum -= moves[r] * target(r);
    for (const Bidder& bidder : bidders_) {
      Payment move;
      for (const Bid& bid : bidder.bids) {
        (is_cores(bid.resource) ? move.cores : move.bytes) +=
            bid.scale * moves[bid.resource];
      }
      Payment payment = bidder.job->payment;
      payment.cores = std::max(0.0, payment.cores + steps * move.cores);
      payment.bytes = std::max(0.0, payment.bytes + steps * move.bytes);
      const Answer answer =
          state_.objective->answer(payment, *bidder.job, bidder.floor);
      sum += move.cores * answer.cores + move.bytes * answer.level;
    }
    return sum;
  }

 private:
  struct Bid {
    int resource = 0;  // index into resources_
    double scale = 0;
  };
  struct Bidder {
    const JobState* job;
    double floor;
    Answer answer;  // to its payment
    std::vector<Bid> bids;
  };

  Bidder bidder_of(const JobState& job) const {
    const double floor = floor_of(state_, job);
    return {&job, floor, state_.objective->answer(job.payment, job, floor), {}};
  }

  double target(int r) const {
    return (resource(r).least_use + resource(r).capacity) / 2;
  }

  // 0 where the price is 0 and the use is under its target.
  VectorXd over_target() const {
    VectorXd over(resources_.size());
    for (int r = 0; r < over.size(); ++r) over[r] = -target(r);
    for (const Bidder& bidder : bidders_) {
      for (const Bid& bid : bidder.bids) {
        over[bid.resource] +=
            bid.scale * (is_cores(bid.resource) ? bidder.answer.cores
                                                : bidder.answer.level);
      }
    }
    for (int r = 0; r < over.size(); ++r) {
      if (resource(r).price == 0 && over[r] < 0) over[r] = 0;
    }
    return over;
  }

  double use_per_level(const Bidder& bidder, const Bid& bid) const {
    return bid.scale *
           (is_cores(bid.resource) ? bidder.answer.cores_per_level : 1);
  }

  // 0 for prices that do not move.
  VectorXd own_curvatures(const VectorXd& over) const {
    VectorXd own = VectorXd::Zero(over.size());
    for (const Bidder& bidder : bidders_) {
      for (const Bid& bid : bidder.bids) {
        const double use = use_per_level(bidder, bid);
        if (over[bid.resource] == 0) continue;
        own[bid.resource] -= bidder.answer.level_per_payment * use * use;
      }
    }
    return own;
  }

  VectorXd curvature_times(const VectorXd& moves, const VectorXd& scale) const {
    VectorXd product = VectorXd::Zero(moves.size());
    for (const Bidder& bidder : bidders_) {
      double payment = 0;
      for (const Bid& bid : bidder.bids) {
        payment += use_per_level(bidder, bid) * moves[bid.resource];
      }
      const double levels = -bidder.answer.level_per_payment * payment;
      for (const Bid& bid : bidder.bids) {
        product[bid.resource] += use_per_level(bidder, bid) * levels;
      }
    }
    for (int r = 0; r < moves.size(); ++r) {
      product[r] = scale[r] > 0 ? product[r] + kRidge * moves[r] / scale[r] : 0;
    }
    return product;
  }

  const ClusterState& state_;
  std::vector<int> resources_;
  std::vector<Bidder> bidders_;
};

// The largest of the step lengths tried that neither passes the minimum nor
// makes a price negative.
double steps_along(const MovingPrices& prices, const VectorXd& moves) {
  double longest = std::numeric_limits<double>::infinity();
  for (int r = 0; r < moves.size(); ++r) {
    if (moves[r] >= 0) continue;
    longest = std::min(longest, prices.resource(size_t(r)).price / -moves[r]);
  }
  if (prices.excess(moves, 0) <= 0) return 0;
  double low = 0;
  double high = 1;
  for (int i = 0; i < kDoublings && high < longest; ++i) {
    if (prices.excess(moves, high) <= 0) break;
    low = std::exchange(high, 2 * high);
  }
  high = std::min(high, longest);
  if (prices.excess(moves, high) >= 0) return high;
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    (prices.excess(moves, middle) > 0 ? low : high) = middle;
  }
  return low;
}

}  // namespace

std::vector<double> step_together(const ClusterState& state,
                                  const std::vector<int>& resources) {
  const MovingPrices moving(state, resources);
  const VectorXd moves = moving.newton();
  const double steps = steps_along(moving, moves);
  std::vector<double> prices;
  if (steps == 0) return prices;
  for (size_t r = 0; r < resources.size(); ++r) {
    const double price = moving.resource(r).price + steps * moves[int(r)];
    prices.push_back(std::max(0.0, price));
  }
  return prices;
}

}  // namespace penstock::allocator
