// Assigns GPUs of nodes to jobs. Pure.
#pragma once

#include <vector>

namespace penstock::simulate {

struct ClusterSize {
  int nodes = 4;
  int gpus_per_node = 8;
  double cores_per_node = 24;
  double memory_gb_per_node = 500;

  double cores_per_gpu() const { return cores_per_node / gpus_per_node; }
  double memory_gb_per_gpu() const {
    return memory_gb_per_node / gpus_per_node;
  }
};

// The GPUs of one job on one node.
struct Share {
  int node = 0;
  int gpus = 0;
};
using Shares = std::vector<Share>;  // by node

// kPack: as few nodes as possible; among nodes that hold the job, the fullest.
// kSpread: GPU by GPU, on the node whose jobs demand the fewest cores.
enum class Placement { kPack, kSpread };

class Occupancy {
 public:
  explicit Occupancy(const ClusterSize& size);

  // Takes GPUs for a job.
  // demand_per_gpu: loader cores at the ceiling
  // REQUIRES: gpus <= free_gpus().
  Shares place(int gpus, double demand_per_gpu, Placement placement);
  void release(const Shares& shares, double demand_per_gpu);

  int free_gpus() const { return all_free_; }

 private:
  Shares pack(int gpus) const;
  Shares spread(int gpus, double demand_per_gpu) const;
  void take(const Shares& shares, double demand_per_gpu, int sign);

  std::vector<int> free_;       // GPUs by node
  std::vector<double> demand_;  // cores by node
  int all_free_ = 0;
};

}  // namespace penstock::simulate
