#include "select_ext/allocator/cluster_price.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "select_ext/allocator/cluster_answer.h"
#include "select_ext/allocator/objective.h"

namespace penstock::allocator {
namespace {

constexpr int kMaxTrials = 200;

// The range of use that a price must reach.
struct Target {
  double use = 0;
  double tolerance = 0;
};

// Floors are granted at any price, so the target lies above them.
Target target_of(double capacity, double floor_use, const Band& band) {
  const double room = capacity - floor_use;
  const double rounding = kRounding * capacity;
  if (room <= 4 * rounding) return {floor_use, 2 * rounding};
  const double unused =
      std::min(band.of_capacity * capacity, band.of_room * room);
  return {capacity - unused, unused / 2};
}

// The jobs of one resource, and their payments for other resources.
class Market {
 public:
  Market(const ClusterState& state, int resource)
      : state_(state), resource_(state.resources[resource]) {
    bidders_.reserve(resource_.members.size());
    for (const Member& member : resource_.members) {
      const JobState& job = state.jobs[member.job];
      const Link& link = job.links[member.link];
      bidders_.push_back({&job, &link, floor_of(state, job),
                          payment_without(state, job, link)});
    }
  }

  double floor_use() const {
    double use = 0;
    for (const Bidder& bidder : bidders_) {
      use += use_at_level(state_, *bidder.job, *bidder.link, bidder.floor);
    }
    return use;
  }

  // Order of magnitude of the price at which the jobs' gains equal their costs.
  double likely_price() const {
    double weight = 0;
    for (const Bidder& bidder : bidders_) weight += bidder.job->weight;
    return weight / std::max(resource_.capacity, 1e-9);
  }

  struct Demand {
    double use = 0;
    double slope = 0;  // per unit of price
  };

  Demand demand(double price) const {
    Demand demand;
    for (const Bidder& bidder : bidders_) {
      const Link& link = *bidder.link;
      const Payment payment = pay_also(state_, bidder.others, link, price);
      const Answer answer =
          state_.objective->answer(payment, *bidder.job, bidder.floor);
      const bool is_cores = state_.is_cores(link.resource);
      const double use_per_level =
          link.scale * (is_cores ? answer.cores_per_level : 1);
      demand.use += link.scale * (is_cores ? answer.cores : answer.level);
      if (state_.objective->is_sum()) {
        demand.slope +=
            answer.level_per_payment * use_per_level * use_per_level;
      } else if (price >
                 (is_cores ? bidder.others.cores : bidder.others.bytes)) {
        demand.slope += answer.level_per_payment * use_per_level;
      }
    }
    return demand;
  }

 private:
  struct Bidder {
    const JobState* job;
    const Link* link;
    double floor;
    Payment others;
  };

  const ClusterState& state_;
  const Resource& resource_;
  std::vector<Bidder> bidders_;
};

// Newton's step if it stays inside the bracket, else the bracket's middle.
// Every third step is a bisection, because Newton's steps may be tiny.
double next_trial(int trial, double price, const Market::Demand& demand,
                  double target, double low, double high) {
  const double newton = price - (demand.use - target) / demand.slope;
  const bool is_inside = newton > low && newton < high;
  if (demand.slope < 0 && is_inside && trial % 3 != 2) return newton;
  if (std::isinf(high)) return 4 * price;
  return low > 0 && high > 4 * low ? std::sqrt(low * high) : (low + high) / 2;
}

}  // namespace

Price find_price(const ClusterState& state, int number) {
  const Resource& resource = state.resources[number];
  const Market market(state, number);
  const Target target =
      target_of(resource.capacity, market.floor_use(),
                resource.has_many() ? state.precision.band_of_many
                                    : state.precision.band);
  const double least_use = 2 * target.use - resource.capacity;
  Market::Demand demand = market.demand(0);
  if (demand.use <= target.use + target.tolerance) return {0, least_use};
  double low = 0;
  double high =
      state.objective->is_sum() ? std::numeric_limits<double>::infinity() : 1;
  double price = resource.price > 0 ? resource.price : market.likely_price();
  price = std::min(price, high);
  for (int i = 0; i < kMaxTrials; ++i) {
    demand = market.demand(price);
    if (std::abs(demand.use - target.use) <= target.tolerance) {
      return {price, least_use};
    }
    (demand.use > target.use ? low : high) = price;
    const double next = next_trial(i, price, demand, target.use, low, high);
    if (next == price) break;
    price = next;
  }
  return {std::isinf(high) ? price : high, least_use};
}

}  // namespace penstock::allocator
