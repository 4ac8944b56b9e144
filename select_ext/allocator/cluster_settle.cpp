#include "select_ext/allocator/cluster_settle.h"

#include <algorithm>
#include <utility>

#include "select_ext/allocator/cluster_answer.h"
#include "select_ext/allocator/cluster_price.h"
#include "select_ext/allocator/objective.h"

namespace penstock::allocator {
namespace {

// Limits one call. After it fit() makes the solution feasible, and the next
// call continues.
constexpr int kMaxRounds = 2000;
constexpr int kMaxPricesPerResource = 1000;
// Rounds between two Newton steps. Most calls end earlier, and a step of ten
// thousand nodes takes 0.1 s.
constexpr int kRoundsBetween = 8;

void reprice(ClusterState& state, int number) {
  const Price found = find_price(state, number);
  state.resources[number].least_use = found.least_use;
  state.set_price(number, found.price);
}

// Prices nodes until each is in its band. Jobs that span nodes carry a change
// from node to node; it shrinks with each.
void drain(ClusterState& state) {
  std::vector<int> pools;
  const size_t limit = kMaxPricesPerResource * (state.queue.size() + 1);
  for (size_t priced = 0; priced < limit && !state.queue.empty(); ++priced) {
    const int number = state.queue.front();
    state.queue.pop_front();
    if (state.is_pool(number)) {
      pools.push_back(number);
      continue;
    }
    state.resources[number].is_queued = false;
    if (state.is_in_band(state.resources[number])) continue;
    reprice(state, number);
  }
  state.queue.insert(state.queue.end(), pools.begin(), pools.end());
}

// Pools are priced after the nodes, because pricing a pool evaluates every job
// that reads from it.
bool reprice_pools(ClusterState& state) {
  const std::deque<int> waiting = std::exchange(state.queue, {});
  bool any = false;
  for (int number : waiting) {
    state.resources[number].is_queued = false;
    if (state.is_in_band(state.resources[number])) continue;
    reprice(state, number);
    any = true;
  }
  return any;
}

// A job's loss by the proximal term.
double clinging_loss(const ClusterState& state, const JobState& job) {
  const double free = free_level(state, job);
  return surplus(job, free, *state.objective) -
         surplus(job, job.level, *state.objective);
}

// Moves the centres if the loss is too large. It is compared with the gain of
// the jobs whose prices have changed, not with their weights: where capacities
// are scarce the gain is far smaller.
bool centre_anew(ClusterState& state) {
  std::vector<std::pair<int, double>> losses;  // by slot
  double lost = 0;
  double gained = 0;
  for (int slot : std::exchange(state.touched, {})) {
    JobState& job = state.jobs[slot];
    job.is_touched = false;
    if (!state.objective->is_linear || !job.is_present()) continue;
    losses.emplace_back(slot, clinging_loss(state, job));
    lost += losses.back().second;
    gained += job.weight * job.level;
  }
  if (lost <= state.precision.clinging * gained) return false;
  for (const auto& [slot, loss] : losses) {
    JobState& job = state.jobs[slot];
    const double allowed = state.precision.clinging * job.weight * job.level;
    if (loss <= allowed && !state.precision.moves_all_centres) continue;
    job.centre = job.level;
    state.touch(slot);
    state.set_level(slot, answered_level(state, job));
  }
  return true;
}

// Raises the price of each resource that is over its capacity. That also lowers
// its jobs' use of other resources, so one pass is enough.
void fit(ClusterState& state) {
  const std::vector<int> waiting(state.queue.begin(), state.queue.end());
  for (int number : waiting) {
    const Resource& resource = state.resources[number];
    if (resource.used > resource.capacity) {
      reprice(state, number);
    }
  }
}

void take_common_step(ClusterState& state) {
  const std::vector<int> numbers = state.moved;
  if (numbers.empty()) return;
  const std::vector<double> prices = step_together(state, numbers);
  for (size_t i = 0; i < prices.size(); ++i) {
    state.set_price(numbers[i], prices[i]);
  }
  state.forget_moves();
}

}  // namespace

void settle(ClusterState& state) {
  state.follow_shares();
  state.forget_moves();
  for (int round = 0; round < kMaxRounds; ++round) {
    drain(state);
    if (reprice_pools(state)) {
      if (round % kRoundsBetween == kRoundsBetween - 1) take_common_step(state);
      continue;
    }
    if (!centre_anew(state)) return;
  }
  fit(state);
}

}  // namespace penstock::allocator
