// Finds and sets the price of one resource.
#include <algorithm>
#include <cmath>
#include <limits>

#include "select_ext/allocator/objective.h"

namespace penstock::allocator {
namespace {

// A price is right while between 0 and twice this much of the resource is
// unused. The bands are small against the bound of gap(). For a resource with
// many jobs the band is wider than the change of one job, because repricing
// evaluates all of them.
struct Band {
  double of_capacity = 0;
  double of_room = 0;  // of what floors leave
};
constexpr Band kBand = {2e-4, 4e-4};
constexpr Band kBandOfMany = {2e-3, 5e-2};
// A share of a capacity: the rounding error of sums of products.
constexpr double kRounding = 1e-12;
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
      bidders_.push_back(
          {&job, &link, state.floor_of(job), state.payment_without(job, link)});
    }
  }

  double floor_use() const {
    double use = 0;
    for (const Bidder& bidder : bidders_) {
      use += state_.use(*bidder.job, *bidder.link, bidder.floor);
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
      const Payment payment = state_.pay_also(bidder.others, link, price);
      const Answer answer = state_.answer(*bidder.job, payment, bidder.floor);
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

double ClusterState::find_price(int number) {
  Resource& resource = resources[number];
  const Market market(*this, number);
  const Target target = target_of(resource.capacity, market.floor_use(),
                                  resource.has_many() ? kBandOfMany : kBand);
  resource.least_use = 2 * target.use - resource.capacity;
  Market::Demand demand = market.demand(0);
  if (demand.use <= target.use + target.tolerance) return 0;
  double low = 0;
  double high =
      objective->is_sum() ? std::numeric_limits<double>::infinity() : 1;
  double price = resource.price > 0 ? resource.price : market.likely_price();
  price = std::min(price, high);
  for (int i = 0; i < kMaxTrials; ++i) {
    demand = market.demand(price);
    if (std::abs(demand.use - target.use) <= target.tolerance) return price;
    (demand.use > target.use ? low : high) = price;
    const double next = next_trial(i, price, demand, target.use, low, high);
    if (next == price) break;
    price = next;
  }
  return std::isinf(high) ? price : high;
}

bool ClusterState::is_in_band(const Resource& resource) const {
  if (resource.used > resource.capacity * (1 + kRounding)) return false;
  return resource.price == 0 || resource.used >= resource.least_use;
}

void ClusterState::enqueue(int number) {
  Resource& resource = resources[number];
  if (resource.is_queued) return;
  resource.is_queued = true;
  queue.push_back(number);
}

void ClusterState::note_change(int slot) {
  if (jobs[slot].is_changed) return;
  jobs[slot].is_changed = true;
  changed.push_back(slot);
}

void ClusterState::touch(int slot) {
  if (jobs[slot].is_touched) return;
  jobs[slot].is_touched = true;
  touched.push_back(slot);
}

void ClusterState::set_level(int slot, double level) {
  JobState& job = jobs[slot];
  if (level == job.level) return;
  const double cores =
      cores_at_level(job, level) - cores_at_level(job, job.level);
  const double levels = level - job.level;
  job.level = level;
  note_change(slot);
  for (const Link& link : job.links) {
    Resource& resource = resources[link.resource];
    resource.used += link.scale * (is_cores(link.resource) ? cores : levels);
    if (!is_in_band(resource)) enqueue(link.resource);
  }
}

void ClusterState::set_price(int number, double price) {
  Resource& resource = resources[number];
  note_move(number);
  resource.price = price;
  for (const Member& member : resource.members) {
    JobState& job = jobs[member.job];
    job.payment = payment_of(job);
    touch(member.job);
  }
  double used = 0;
  for (const Member& member : resource.members) {
    JobState& job = jobs[member.job];
    set_level(member.job, answered_level(job));
    used += use(job, job.links[member.link], job.level);
  }
  resource.used = used;  // the increments of set_level accumulate rounding
}

}  // namespace penstock::allocator
