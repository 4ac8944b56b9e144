#include "tools/simulate/placement.h"

#include <algorithm>
#include <numeric>

namespace penstock::simulate {

Occupancy::Occupancy(const ClusterSize& size)
    : free_(size.nodes, size.gpus_per_node),
      demand_(size.nodes, 0),
      all_free_(size.nodes * size.gpus_per_node) {}

Shares Occupancy::place(int gpus, double demand_per_gpu, Placement placement) {
  Shares shares =
      placement == Placement::kPack ? pack(gpus) : spread(gpus, demand_per_gpu);
  take(shares, demand_per_gpu, 1);
  return shares;
}

void Occupancy::release(const Shares& shares, double demand_per_gpu) {
  take(shares, demand_per_gpu, -1);
}

void Occupancy::take(const Shares& shares, double demand_per_gpu, int sign) {
  for (const Share& share : shares) {
    free_[share.node] -= sign * share.gpus;
    demand_[share.node] += sign * share.gpus * demand_per_gpu;
    all_free_ -= sign * share.gpus;
  }
}

Shares Occupancy::pack(int gpus) const {
  std::vector<int> nodes(free_.size());
  std::iota(nodes.begin(), nodes.end(), 0);
  int tightest = -1;
  for (int node : nodes) {
    if (free_[node] < gpus) continue;
    if (tightest < 0 || free_[node] < free_[tightest]) tightest = node;
  }
  if (tightest >= 0) return {{tightest, gpus}};
  std::stable_sort(nodes.begin(), nodes.end(),
                   [&](int a, int b) { return free_[a] > free_[b]; });
  Shares shares;
  for (int node : nodes) {
    const int taken = std::min(gpus, free_[node]);
    if (taken > 0) shares.push_back({node, taken});
    gpus -= taken;
  }
  return shares;
}

Shares Occupancy::spread(int gpus, double demand_per_gpu) const {
  std::vector<int> taken(free_.size(), 0);
  for (; gpus > 0; --gpus) {
    int best = -1;
    double least = 0;
    for (size_t node = 0; node < free_.size(); ++node) {
      if (free_[node] == taken[node]) continue;
      const double demand = demand_[node] + taken[node] * demand_per_gpu;
      if (best < 0 || demand < least) {
        best = static_cast<int>(node);
        least = demand;
      }
    }
    ++taken[best];
  }
  Shares shares;
  for (size_t node = 0; node < taken.size(); ++node) {
    if (taken[node] > 0)
      shares.push_back({static_cast<int>(node), taken[node]});
  }
  return shares;
}

}  // namespace penstock::simulate
