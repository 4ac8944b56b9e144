// From what is known of the node's jobs to what each may have now: builds the
// allocation problem, solves it, rounds it to CPUs and bandwidth. Pure.
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

// One managed job on this node; figures are of all its ranks here together.
struct PlanJob {
  uint64_t id = 0;
  uint32_t uid = 0;
  std::string account;       // "": unknown
  CpuSet own_cpus;           // what Slurm gave it
  CpuSet home_cpus;          // of those, what no other job holds too
  CpuSet near_cpus;          // near its tasks' GPUs; empty: unknown
  double reserve_cores = 0;  // trainer reserve
  // nullopt: neither a profile nor a page says; the job is then described in
  // loader cores (rate 1 = one core).
  std::optional<Prediction> prediction;
  uint32_t ranks = 1;
  uint32_t shares = 1;           // of a pool: ranks that count
  double used_loader_cores = 0;  // lately
  bool starved = false;          // its loader threads waited for a CPU lately
  int loader_units = 0;          // threads or workers that can be moved
  bool elastic = false;          // follows the hint: units can grow
  uint32_t max_threads = 0;      // --loader-threads=N x tasks; 0: no bound
  bool apart = false;            // its loader is kept on so many of its CPUs
  uint64_t max_bytes_per_s = 0;  // --loader-bw=RATE; 0: no bound
  double weight = 1;
  int pool = -1;                // index into PlanInput::pools
  bool pool_pressed = false;    // reads as fast as its limit lets it
  bool on_entitlement = false;  // its pages contradict the kernel
  bool stopped = false;         // suspended: uses nothing until it goes on
  // Jobs of one user that have the same number here prepare their batches
  // together, each an even part; 0: it prepares its own.
  uint64_t share = 0;
  // Of a job that spans nodes, as its controller has them, of all ranks here:
  // the rate that its slowest ranks allow, and the part of it that is a floor.
  double cluster_rate = 0;  // 0: none
  double cluster_floor = 0;
};

// What a job asks of the node, in its own unit of rate: samples/s of all its
// ranks here, or loader cores where nothing tells what a sample costs.
struct JobNeeds {
  bool in_cores = false;
  double ceiling = 0;
  double cores_per_rate = 0;
  double bytes_per_rate = 0;
  double entitled_cores = 0;  // its CPUs less the reserve
  double home_cores = 0;      // of them, what its loader may use
  double max_cores = 0;       // that its loader threads can use
};
JobNeeds needs_of(const PlanJob& job);

struct PlanInput {
  Policy policy = Policy::kThroughput;
  LendAcross lend_across = LendAcross::kAny;
  std::vector<PlanJob> jobs;
  CpuSet idle_cpus;           // unallocated and lendable
  std::vector<double> pools;  // bandwidth of each, bytes/s
  // Of pools that other nodes read from too: the entitlement of a share, and
  // `pools` then holds this node's part. 0, or none: the pool is our own.
  std::vector<double> pool_bytes_per_share;
  std::set<uint64_t> barred_lenders;  // suffered lately: their CPUs stay
  std::vector<int> numa_node_of_cpu;
  std::vector<int> core_of_cpu;
};

struct PlannedGrant {
  uint64_t id = 0;
  // Of all ranks; in cores, not samples/s, where a sample's cost is unknown.
  double rate = 0;   // expected
  double floor = 0;  // what the entitlement alone allows
  bool in_cores = false;
  double home_cores = 0;  // of its own
  double away_cores = 0;  // expected of lent CPUs
  CpuSet away_cpus;
  double entitled_bytes_per_s = 0;  // 0: no pool
  double bytes_per_s = 0;           // limit; 0: none
  uint32_t loader_threads = 1;      // for the hint

  // rate or floor as samples/s; nullopt: unknown, or none.
  std::optional<double> samples_per_s(double PlannedGrant::*figure) const;

  friend bool operator==(const PlannedGrant&, const PlannedGrant&) = default;
};

struct Plan {
  std::vector<PlannedGrant> grants;       // in the order of the jobs
  std::map<int, uint64_t> lender_of_cpu;  // lent CPUs; 0: idle CPU
  double loss_cores = 0;                  // by rounding
};

// Errors: kInvalidArgument, kInfeasible  as allocator::solve(); the caller then
//         uses entitlement_plan().
[[nodiscard]] Result<Plan> make_plan(const PlanInput& input);

// Nobody lends; every pool is split by ranks. Also what Policy=even enforces.
Plan entitlement_plan(const PlanInput& input);

// What Slurm gave each job and nothing of ours: no loans, no limits.
Plan slurms_plan(const PlanInput& input);

}  // namespace penstock
