#include "bench/allocator/cluster_mix.h"

#include <algorithm>
#include <iterator>

namespace penstock {
namespace {

using allocator::ClusterJob;
using allocator::ClusterPart;

// Loader cores per GPU at the ceiling: Synergy's models at 3 cores per GPU
// (tests/fixtures/synergy/profiles.json): transformers and lstm 1, deepspeech
// 3, res50 4, mobilenet 6, res18 9, alexnet 12.
constexpr double kCoresPerGpu[] = {1, 1, 1, 3, 4, 4, 6, 9, 12};

// Pool bandwidth over the reads of all jobs at their ceilings.
constexpr double kPoolShare[] = {0.5, 1.5, 1.5};
constexpr double kReadingShare = 0.6;
constexpr double kLeastPool = 1e6;  // bytes/s, for a pool without readers

}  // namespace

double ClusterMixer::between(double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random_);
}

ClusterPart ClusterMixer::part(int node, int gpus) const {
  const double cores = shape_.cores_per_node / shape_.gpus_per_node * gpus;
  return {node, static_cast<double>(gpus), cores};
}

// Nodes with a free GPU, searched from a random one on.
ClusterMixer::Parts ClusterMixer::span(std::vector<int>& free_gpus) {
  std::geometric_distribution<int> beyond_two(1 / (shape_.mean_span - 1));
  const int wanted =
      std::min({2 + beyond_two(random_), shape_.max_span, shape_.nodes});
  int node = std::uniform_int_distribution<int>(0, shape_.nodes - 1)(random_);
  Parts parts;
  for (int tried = 0; tried < shape_.nodes; ++tried) {
    if (free_gpus[node] > 0) {
      --free_gpus[node];
      parts.push_back(part(node, 1));
      if (static_cast<int>(parts.size()) == wanted) break;
    }
    node = (node + 1) % shape_.nodes;
  }
  return parts;
}

// `jobs` jobs of one node each that use all free GPUs.
std::vector<ClusterMixer::Parts> ClusterMixer::fill(
    const std::vector<int>& free_gpus, int jobs) {
  struct Slot {
    int node;
    bool starts_a_job;
  };
  std::vector<Slot> slots;
  std::vector<size_t> joinable;
  for (int node = 0; node < shape_.nodes; ++node) {
    for (int gpu = 0; gpu < free_gpus[node]; ++gpu) {
      if (gpu > 0) joinable.push_back(slots.size());
      slots.push_back({node, true});
    }
  }
  std::shuffle(joinable.begin(), joinable.end(), random_);
  const size_t to_join = slots.size() - std::min<size_t>(slots.size(), jobs);
  for (size_t i = 0; i < std::min(to_join, joinable.size()); ++i) {
    slots[joinable[i]].starts_a_job = false;
  }
  std::vector<Parts> placed;
  for (const Slot& slot : slots) {
    if (slot.starts_a_job) {
      placed.push_back({part(slot.node, 1)});
    } else {
      ClusterPart& last = placed.back()[0];
      last = part(slot.node, static_cast<int>(last.ranks) + 1);
    }
  }
  return placed;
}

ClusterJob ClusterMixer::job(Parts parts) {
  ClusterJob job;
  job.id = ++last_id_;
  job.weight = 0;
  for (const ClusterPart& part : parts) job.weight += part.ranks;
  job.ceiling = between(100, 3000);
  const size_t kind = std::uniform_int_distribution<size_t>(
      0, std::size(kCoresPerGpu) - 1)(random_);
  const double cores = kCoresPerGpu[kind] * between(0.8, 1.25);
  // The cost is linear up to the bend; beyond it each sample costs more.
  const double bend = between(0.4, 1);
  const double cheap = between(0.6, 1);
  job.cores_curve = {{bend * job.ceiling, bend * cheap * cores},
                     {job.ceiling, cores}};
  if (between(0, 1) < kReadingShare) {
    job.bytes_per_sample = between(20e3, 300e3);
    job.pool = std::uniform_int_distribution<int>(0, 2)(random_);
  }
  job.parts = std::move(parts);
  return job;
}

ClusterMix ClusterMixer::make() {
  ClusterMix mix;
  mix.nodes.assign(shape_.nodes, {shape_.cores_per_node, 0});
  std::vector<int> free_gpus(shape_.nodes, shape_.gpus_per_node);
  const int spanning = static_cast<int>(shape_.spanning_share * shape_.jobs);
  for (int i = 0; i < spanning; ++i) mix.jobs.push_back(job(span(free_gpus)));
  for (Parts& parts : fill(free_gpus, shape_.jobs - spanning)) {
    mix.jobs.push_back(job(std::move(parts)));
  }
  mix.pools.assign(std::size(kPoolShare), kLeastPool);
  for (const ClusterJob& job : mix.jobs) {
    if (job.pool < 0) continue;
    mix.pools[job.pool] +=
        kPoolShare[job.pool] * job.weight * job.bytes_per_sample * job.ceiling;
  }
  return mix;
}

ClusterJob ClusterMixer::successor(const ClusterJob& ended) {
  return job(ended.parts);
}

}  // namespace penstock
