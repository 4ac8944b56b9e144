// Brings all resources back into their bands: block-coordinate descent on the
// dual with a proximal term, whose centres follow the levels.
#include <algorithm>
#include <utility>

#include "select_ext/allocator/objective.h"

namespace penstock::allocator {
namespace {

// Allowed loss by the proximal term, as a share of the jobs' gain.
constexpr double kClinging = 1e-4;
// Limits one call. After it fit() makes the solution feasible, and the next
// call continues.
constexpr int kMaxRounds = 2000;
constexpr int kMaxPricesPerResource = 1000;
// Rounds between two Newton steps. Most calls end earlier, and a step of ten
// thousand nodes takes 0.1 s.
constexpr int kRoundsBetween = 8;

}  // namespace

// Prices nodes until each is in its band. Jobs that span nodes carry a change
// from node to node; it shrinks with each.
void ClusterState::drain() {
  std::vector<int> pools;
  const size_t limit = kMaxPricesPerResource * (queue.size() + 1);
  for (size_t priced = 0; priced < limit && !queue.empty(); ++priced) {
    const int number = queue.front();
    queue.pop_front();
    if (is_pool(number)) {
      pools.push_back(number);
      continue;
    }
    resources[number].is_queued = false;
    if (is_in_band(resources[number])) continue;
    set_price(number, find_price(number));
  }
  queue.insert(queue.end(), pools.begin(), pools.end());
}

// Pools are priced after the nodes, because pricing a pool evaluates every job
// that reads from it.
bool ClusterState::reprice_pools() {
  const std::deque<int> waiting = std::exchange(queue, {});
  bool any = false;
  for (int number : waiting) {
    resources[number].is_queued = false;
    if (is_in_band(resources[number])) continue;
    set_price(number, find_price(number));
    any = true;
  }
  return any;
}

// A job's loss by the proximal term.
double ClusterState::clinging_loss(const JobState& job) const {
  const double free = free_level(job, job.payment);
  return surplus(job, job.payment, free) - surplus(job, job.payment, job.level);
}

// Moves the centres if the loss is too large. It is compared with the gain of
// the jobs whose prices have changed, not with their weights: where capacities
// are scarce the gain is far smaller.
bool ClusterState::centre_anew() {
  std::vector<std::pair<int, double>> losses;  // by slot
  double lost = 0;
  double gained = 0;
  for (int slot : std::exchange(touched, {})) {
    JobState& job = jobs[slot];
    job.is_touched = false;
    if (!objective->is_linear || !job.is_present()) continue;
    losses.emplace_back(slot, clinging_loss(job));
    lost += losses.back().second;
    gained += job.weight * job.level;
  }
  if (lost <= kClinging * gained) return false;
  for (const auto& [slot, loss] : losses) {
    JobState& job = jobs[slot];
    if (loss <= kClinging * job.weight * job.level) continue;
    job.centre = job.level;
    touch(slot);
    set_level(slot, answered_level(job));
  }
  return true;
}

// Raises the price of each resource that is over its capacity. That also lowers
// its jobs' use of other resources, so one pass is enough.
void ClusterState::fit() {
  const std::vector<int> waiting(queue.begin(), queue.end());
  for (int number : waiting) {
    const Resource& resource = resources[number];
    if (resource.used > resource.capacity) {
      set_price(number, find_price(number));
    }
  }
}

void ClusterState::settle() {
  follow_shares();
  forget_moves();
  for (int round = 0; round < kMaxRounds; ++round) {
    drain();
    if (reprice_pools()) {
      if (round % kRoundsBetween == kRoundsBetween - 1) step_together();
      continue;
    }
    if (!centre_anew()) return;
  }
  fit();
}

}  // namespace penstock::allocator
