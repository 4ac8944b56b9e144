// Plans the node: builds the allocation problem from the jobs' records, solves
// it, and rounds the solution to CPUs and bandwidth. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/config.h"
#include "common/result.h"
#include "common/units.h"
#include "predictor/predictor.h"

namespace penstock {

// One managed job on this node. Figures are sums over its ranks here.
struct PlanJob {
  uint64_t id = 0;
  uint32_t uid = 0;
  std::string account;       // "": unknown
  CpuSet own_cpus;           // allocated by Slurm
  CpuSet home_cpus;          // part of own_cpus that no other job holds
  CpuSet near_cpus;          // near its tasks' GPUs; empty: unknown
  double reserve_cores = 0;  // trainer reserve
  // nullopt: neither a profile nor a page gives costs. The job is then planned
  // in loader cores (rate 1 = one core).
  std::optional<Prediction> prediction;
  uint32_t ranks = 1;
  uint32_t shares = 1;           // ranks that count for its part of a pool
  double used_loader_cores = 0;  // smoothed over recent periods
  bool starved = false;          // its loader threads waited for a CPU lately
  int loader_units = 0;          // movable threads or workers
  bool elastic = false;          // follows the hint: can start more threads
  uint32_t max_threads = 0;      // the user's limit x tasks; 0: no limit
  // Uses CPUs that no other job needs, and lends none. home_cpus: those of its
  // own that only guests hold.
  bool guest = false;
  bool apart = false;  // its loader has separate CPUs, that many per task
  uint64_t max_bytes_per_s = 0;  // the user's limit; 0: no limit
  double weight = 1;
  int pool = -1;                // index into PlanInput::pools
  bool pool_pressed = false;    // reads at about its limit
  bool on_entitlement = false;  // no more than the entitlement
  bool stopped = false;         // suspended: needs nothing until continued
  // Number of the batches' share. Jobs of one user with the same number prepare
  // their batches together, each an equal part. 0: not shared.
  uint64_t share = 0;
  // For a job that spans nodes, set by its controller, over all its ranks here:
  // the rate that its slowest ranks allow, and the floor within that rate.
  double cluster_rate = 0;  // 0: none
  double cluster_floor = 0;
};

// A job's needs in its own unit of rate: samples/s of all its ranks here, or
// loader cores if the cost of a sample is unknown.
struct JobNeeds {
  bool in_cores = false;
  double ceiling = 0;
  double cores_per_rate = 0;
  double bytes_per_rate = 0;
  double entitled_cores = 0;  // its CPUs less the reserve
  double home_cores = 0;      // part of entitled_cores for its loader
  double max_cores = 0;       // that its loader threads can use
};
JobNeeds needs_of(const PlanJob& job);

// Lenders that keep their CPUs, because loans harmed them lately.
struct BarredLenders {
  std::set<uint64_t> to_anybody;
  std::set<uint64_t> to_guests;  // they lend to others

  bool operator==(const BarredLenders&) const = default;
};

struct PlanInput {
  Policy policy = kDefaultPolicy;
  LendAcross lend_across = LendAcross::kAny;
  std::vector<PlanJob> jobs;
  CpuSet idle_cpus;           // lendable CPUs that no job has
  std::vector<double> pools;  // bandwidth of each pool, bytes/s
  // For pools that other nodes share: the entitlement per share; `pools` then
  // holds this node's part. 0 or missing: the pool is not shared.
  std::vector<double> pool_bytes_per_share;
  BarredLenders barred;
  std::vector<int> numa_node_of_cpu;
  std::vector<int> core_of_cpu;
};

struct PlannedGrant {
  uint64_t id = 0;
  // Of all ranks; in cores instead of samples/s if the cost of a sample is
  // unknown.
  double rate = 0;   // expected
  double floor = 0;  // by the entitlement alone
  bool in_cores = false;
  double home_cores = 0;  // on its own CPUs
  double away_cores = 0;  // expected from lent CPUs
  CpuSet away_cpus;
  double entitled_bytes_per_s = 0;  // 0: no pool
  double bytes_per_s = 0;           // limit; 0: none
  uint32_t loader_threads = 1;      // for the hint

  // rate or floor in samples/s; nullopt: in cores, or 0.
  std::optional<double> samples_per_s(double PlannedGrant::*figure) const;

  friend bool operator==(const PlannedGrant&, const PlannedGrant&) = default;
};

struct Plan {
  std::vector<PlannedGrant> grants;       // in the order of the jobs
  std::map<int, uint64_t> lender_of_cpu;  // lent CPUs; 0: idle CPU
  double loss_cores = 0;                  // lost by rounding
};

// Errors: kInvalidArgument, kInfeasible  as allocator::solve(); then use
//         entitlement_plan().
[[nodiscard]] Result<Plan> make_plan(const PlanInput& input);

// A plan without loans, with pools divided by ranks; Policy=even uses it.
Plan entitlement_plan(const PlanInput& input);

// A plan without loans and limits: only what Slurm gave.
Plan slurms_plan(const PlanInput& input);

}  // namespace penstock
