// The allocation problem of a whole cluster (DESIGN section 4, docs/model.md,
// "The cluster"): jobs that span nodes have one rate, storage pools are shared
// by all. Kept up as jobs come and go.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/result.h"
#include "select_ext/allocator/problem.h"

namespace penstock::allocator {

struct ClusterNode {
  double cores = 0;               // loader cores
  double ingest_bytes_per_s = 0;  // 0: no limit
};

// The ranks of a job on one node.
struct ClusterPart {
  int node = 0;               // index into the nodes; a job names each once
  double ranks = 0;           // > 0
  double entitled_cores = 0;  // of all its ranks here
  // Loader cores needed here for what the curve reckons with 1: a node whose
  // cores are half as fast has 2.
  double core_factor = 1;
};

struct ClusterJob {
  uint64_t id = 0;
  double weight = 1;   // > 0: GPUs x user weight
  double ceiling = 0;  // > 0, samples/s per rank
  // Loader cores of one rank as in Job::cores_curve.
  std::vector<Job::Point> cores_curve;
  double bytes_per_sample = 0;      // from storage: less what a cache serves
  int pool = -1;                    // index into the pools, -1: none
  double max_cores_per_rank = 1e9;  // its runnable loader threads
  std::vector<ClusterPart> parts;   // at least one
};

struct ClusterState;  // cluster_state.h

struct ClusterGrant {
  uint64_t id = 0;
  double rate = 0;  // samples/s per rank
};

// Holds a problem and its solution while jobs are added and removed.
//
// A job's floor is the rate that its entitlement allows: the entitled cores of
// its slowest part, and of each pool and ingest limit its ranks' share among
// those of all jobs that read through it, which changes as they come and go.
//
// Solved by pricing (docs/model.md, "Pricing"). Capacities and floors hold
// after settle(); what is lost against the optimum is bounded by gap().
// Deterministic: the same calls give the same grants. Not thread-safe.
class ClusterSolver {
 public:
  // pools: bytes/s of each, > 0.
  // Errors: kInvalidArgument  names the node or pool, and the field
  [[nodiscard]] static Result<ClusterSolver> create(
      std::vector<ClusterNode> nodes, std::vector<double> pools,
      Objective objective);

  ClusterSolver(ClusterSolver&&) noexcept;
  ClusterSolver& operator=(ClusterSolver&&) noexcept;
  ~ClusterSolver();

  // Rates mean nothing between a call of these and settle().
  // Errors: kInvalidArgument  a field is out of range, the id is taken
  //         kInfeasible       the entitled cores of a node's jobs are more
  //                           than it has: names the node
  // After an error nothing has changed. O(parts).
  [[nodiscard]] Status add(const ClusterJob& job);
  // Errors: kNotFound  no such job
  // O(parts).
  [[nodiscard]] Status remove(uint64_t id);

  // Brings the solution to the present jobs. Touches the resources whose use
  // the changes since the last call moved out of their band, and whatever
  // these touch in turn.
  void settle();

  // Jobs added or with another rate since the last call, in no order that
  // means anything.
  std::vector<ClusterGrant> take_changes();

  // Errors: kNotFound  no such job
  [[nodiscard]] Result<double> rate(uint64_t id) const;
  [[nodiscard]] Result<double> floor(uint64_t id) const;

  // throughput: sum of weight x rate / ceiling. fair: sum of weight x
  // log(rate / ceiling) over the jobs that have a rate. max-min: least rate /
  // ceiling; 1 without jobs. O(jobs).
  double objective() const;

  // Upper bound on what the objective could have lost: the Lagrangian dual at
  // the present prices less objective(). As a fraction of objective() under
  // throughput; per unit of weight under fair. O(jobs).
  // REQUIRES: not max-min, which has no such bound.
  double gap() const;

  // Nodes whose cores, and pools whose bandwidth, more would be made of.
  int full_nodes() const;
  int full_pools() const;

 private:
  explicit ClusterSolver(std::unique_ptr<ClusterState> state);
  std::unique_ptr<ClusterState> state_;
};

}  // namespace penstock::allocator
