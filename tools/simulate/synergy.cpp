// Synergy's GREEDY and TUNE, after the paper (OSDI'22) and the behaviour of its
// published simulator. Storage speed is left out: in the simulator all jobs
// need the same, and no server runs short of it.
#include <algorithm>
#include <numeric>

#include "tools/simulate/policy.h"

namespace penstock::simulate {
namespace {

struct Amount {
  double gpus = 0;
  double cores = 0;
  double memory_gb = 0;

  Amount times(double factor) const {
    return {gpus * factor, cores * factor, memory_gb * factor};
  }
  Amount plus(const Amount& other) const {
    return {gpus + other.gpus, cores + other.cores,
            memory_gb + other.memory_gb};
  }
  // The excess over `other`, at least 0.
  Amount beyond(const Amount& other) const {
    return {std::max(0.0, gpus - other.gpus),
            std::max(0.0, cores - other.cores),
            std::max(0.0, memory_gb - other.memory_gb)};
  }
  bool fits(const Amount& room) const { return beyond(room).is_nothing(); }
  bool is_nothing() const {
    constexpr double kNothing = 1e-9;
    return gpus < kNothing && cores < kNothing && memory_gb < kNothing;
  }
};

struct Placed {
  const TraceJob* job = nullptr;
  Shares shares;
  Amount per_gpu;
  bool is_full = false;  // it runs at its full demand and speed
};

class Round {
 public:
  Round(const ClusterSize& size, SynergyPolicy policy)
      : policy_(policy),
        fair_{1, size.cores_per_gpu(), size.memory_gb_per_gpu()},
        free_(size.nodes, fair_.times(size.gpus_per_node)) {}

  void try_job(const TraceJob& job) {
    double free_gpus = 0;
    for (const Amount& room : free_) free_gpus += room.gpus;
    if (free_gpus < job.gpus) return;
    const Amount full = {1, job.full.cores, job.full.memory_gb};
    const bool has_more_than_fair = !full.fits(fair_);
    Placed placed = {&job, {}, full, true};
    if (place(placed)) return;
    if (policy_ == SynergyPolicy::kGreedy) return;  // skipped in this round
    if (has_more_than_fair) placed = {&job, {}, fair_, false};
    if (place(placed)) return;
    demote_peers(placed);
    place(placed);
  }

  std::vector<Running> running() const {
    std::vector<Running> running;
    for (const Placed& it : placed_) {
      const double speed = it.is_full ? it.job->full.speedup : 1;
      running.push_back({it.job, it.shares, it.job->fair_rate * speed});
    }
    return running;
  }

 private:
  bool place(Placed placed) {
    placed.shares = find(placed.job->gpus, placed.per_gpu);
    if (placed.shares.empty()) return false;
    take(placed, 1);
    placed_.push_back(std::move(placed));
    return true;
  }

  void take(const Placed& placed, double sign) {
    for (const Share& share : placed.shares) {
      free_[share.node] =
          free_[share.node].plus(placed.per_gpu.times(-sign * share.gpus));
    }
  }

  // Node indices, sorted by free GPUs, fewest first.
  std::vector<int> fullest_first() const {
    std::vector<int> nodes(free_.size());
    std::iota(nodes.begin(), nodes.end(), 0);
    std::stable_sort(nodes.begin(), nodes.end(), [&](int a, int b) {
      return free_[a].gpus < free_[b].gpus;
    });
    return nodes;
  }

  // One node if one holds all GPUs, else GPU by GPU; empty: no room.
  Shares find(int gpus, const Amount& per_gpu) const {
    const std::vector<int> nodes = fullest_first();
    for (int node : nodes) {
      if (per_gpu.times(gpus).fits(free_[node])) return {{node, gpus}};
    }
    Shares shares;
    for (int node : nodes) {
      int taken = 0;
      while (taken < gpus && per_gpu.times(taken + 1).fits(free_[node])) {
        ++taken;
      }
      if (taken > 0) shares.push_back({node, taken});
      gpus -= taken;
    }
    return gpus == 0 ? shares : Shares{};
  }

  // Cuts peers to their fair shares until the job fits. Considers the nodes
  // whose free GPUs the job would take.
  void demote_peers(const Placed& placed) {
    int gpus = placed.job->gpus;
    for (int node : fullest_first()) {
      const int taken = std::min(gpus, static_cast<int>(free_[node].gpus));
      if (taken == 0) continue;
      demote_on(node, placed.per_gpu.times(taken).beyond(free_[node]));
      gpus -= taken;
      if (gpus == 0) return;
    }
  }

  // Order of the peers to cut: fewest nodes, then most cores per GPU, then most
  // memory.
  void demote_on(int node, Amount missing) {
    std::vector<Placed*> peers;
    for (Placed& peer : placed_) {
      for (const Share& share : peer.shares) {
        if (share.node == node) peers.push_back(&peer);
      }
    }
    std::stable_sort(peers.begin(), peers.end(), [](auto* a, auto* b) {
      if (a->shares.size() != b->shares.size()) {
        return a->shares.size() < b->shares.size();
      }
      if (a->per_gpu.cores != b->per_gpu.cores) {
        return a->per_gpu.cores > b->per_gpu.cores;
      }
      return a->per_gpu.memory_gb > b->per_gpu.memory_gb;
    });
    for (Placed* peer : peers) {
      if (missing.is_nothing()) return;
      double gpus_here = 0;
      for (const Share& share : peer->shares) {
        if (share.node == node) gpus_here = share.gpus;
      }
      const Amount excess = peer->per_gpu.beyond(fair_).times(gpus_here);
      if (peer->is_full && !peer->per_gpu.fits(fair_)) {
        take(*peer, -1);
        peer->per_gpu = fair_;
        peer->is_full = false;
        take(*peer, 1);
      }
      missing = missing.beyond(excess);
    }
  }

  SynergyPolicy policy_;
  Amount fair_;
  std::vector<Amount> free_;
  std::vector<Placed> placed_;
};

}  // namespace

std::vector<Running> synergy_round(const std::vector<const TraceJob*>& order,
                                   const ClusterSize& size,
                                   SynergyPolicy policy) {
  Round round(size, policy);
  for (const TraceJob* job : order) round.try_job(*job);
  return round.running();
}

}  // namespace penstock::simulate
