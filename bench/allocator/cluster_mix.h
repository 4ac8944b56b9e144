// Generates a cluster full of jobs for `penstock bench allocator`. Pure: the
// same shape and seed give the same cluster.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "select_ext/allocator/cluster.h"

namespace penstock {

struct ClusterShape {
  int nodes = 10000;
  int gpus_per_node = 8;
  double cores_per_node = 24;
  int jobs = 40000;
  // Share of jobs with one GPU on each of several nodes. The number of nodes is
  // geometric from 2, limited to max_span, with a mean of about mean_span.
  // Other jobs have one GPU, or a few of one node, so that all GPUs are used.
  double spanning_share = 0.25;
  double mean_span = 4;
  int max_span = 64;
};

struct ClusterMix {
  std::vector<allocator::ClusterNode> nodes;
  std::vector<double> pools;  // three; the first one binds
  std::vector<allocator::ClusterJob> jobs;
};

class ClusterMixer {
 public:
  ClusterMixer(const ClusterShape& shape, uint64_t seed)
      : shape_(shape), random_(seed) {}

  // REQUIRES: called once, with a shape whose jobs fit its GPUs.
  ClusterMix make();

  // A new job on the GPUs of a job that ended.
  allocator::ClusterJob successor(const allocator::ClusterJob& ended);

 private:
  using Parts = std::vector<allocator::ClusterPart>;

  double between(double low, double high);
  allocator::ClusterPart part(int node, int gpus) const;
  Parts span(std::vector<int>& free_gpus);
  std::vector<Parts> fill(const std::vector<int>& free_gpus, int jobs);
  allocator::ClusterJob job(Parts parts);

  ClusterShape shape_;
  std::mt19937_64 random_;
  uint64_t last_id_ = 0;
};

}  // namespace penstock
