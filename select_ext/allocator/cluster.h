// The allocation problem of a whole cluster (docs/model.md, "The cluster"). A
// job that spans nodes has one rate. All nodes share the storage pools. Jobs
// may be added and removed at any time.
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
  int node = 0;               // index into the nodes; at most one part per node
  double ranks = 0;           // > 0
  double entitled_cores = 0;  // of all ranks of the job on this node
  // Loader cores needed on this node for each core of the curve. A node whose
  // cores are half as fast has 2.
  double core_factor = 1;
};

struct ClusterJob {
  uint64_t id = 0;
  double weight = 1;   // > 0: shares x user weight
  double ceiling = 0;  // > 0, samples/s per rank
  // Loader cores of one rank, in the form of Job::cores_curve.
  std::vector<Job::Point> cores_curve;
  double bytes_per_sample = 0;      // read from storage, without cache hits
  int pool = -1;                    // index into the pools, -1: none
  double max_cores_per_rank = 1e9;  // runnable loader threads of a rank
  std::vector<ClusterPart> parts;   // at least one
};

struct ClusterState;  // cluster_state.h

struct ClusterGrant {
  uint64_t id = 0;
  double rate = 0;  // samples/s per rank
};

// Holds a problem and its solution while jobs are added and removed.
//
// A job's floor is the rate that its entitlement allows. It is the lowest of
// these: the rate of the entitled cores of its slowest part, and the rate of
// its ranks' share of each pool and ingest limit. That share is divided among
// the ranks of all jobs that read through the pool or limit, so it changes as
// they come and go.
//
// Solved by pricing (docs/model.md, "Pricing"). Capacities and floors hold
// after settle(); gap() bounds the loss against the optimum. Deterministic: the
// same calls give the same grants. Not thread-safe.
class ClusterSolver {
 public:
  // pools: bandwidth of each in bytes/s, > 0.
  // Errors: kInvalidArgument  names the node or pool, and the field; or the
  //                           policy does not lend
  [[nodiscard]] static Result<ClusterSolver> create(
      std::vector<ClusterNode> nodes, std::vector<double> pools, Policy policy);

  ClusterSolver(ClusterSolver&&) noexcept;
  ClusterSolver& operator=(ClusterSolver&&) noexcept;
  ~ClusterSolver();

  // Adds a job. Rates are undefined until the next settle().
  // Errors: kInvalidArgument  a field is out of range, or the id is in use
  //         kInfeasible       the jobs of a node would be entitled to more
  //                           cores than it has: names the node
  // After an error nothing has changed. O(parts).
  [[nodiscard]] Status add(const ClusterJob& job);
  // Removes a job. Rates are undefined until the next settle().
  // Errors: kNotFound  no such job
  // O(parts).
  [[nodiscard]] Status remove(uint64_t id);

  // Solves for the present jobs. Reprices the resources whose use has left its
  // band since the last call, and the resources that this moves out of theirs.
  void settle();

  // Jobs that are new or have another rate since the last call, in unspecified
  // order.
  std::vector<ClusterGrant> take_changes();

  // Errors: kNotFound  no such job
  [[nodiscard]] Result<double> rate(uint64_t id) const;
  [[nodiscard]] Result<double> floor(uint64_t id) const;

  // throughput: sum of weight x rate / ceiling.
  // fair: sum of weight x log(rate / ceiling) over the jobs with a rate over 0.
  // max-min: least rate / ceiling; 1 without jobs.
  // O(jobs).
  double objective() const;

  // Upper bound on the objective's loss against the optimum: the Lagrangian
  // dual at the present prices less objective(). A fraction of objective()
  // under throughput; per unit of weight under fair. O(jobs).
  // REQUIRES: has_gap(); max-min has no such bound.
  double gap() const;
  bool has_gap() const;

  // Number of nodes whose cores, and of pools whose bandwidth, limit a rate.
  int full_nodes() const;
  int full_pools() const;

 private:
  explicit ClusterSolver(std::unique_ptr<ClusterState> state);
  std::unique_ptr<ClusterState> state_;
};

}  // namespace penstock::allocator
