// The single-node allocation problem (DESIGN section 4, docs/model.md) and
// its answer. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/units.h"

namespace penstock::allocator {

// One job on this node. Rates are samples/s per rank; costs are of all the
// job's ranks on this node together.
struct Job {
  uint64_t id = 0;
  double weight = 1;    // > 0: GPUs x user weight
  double floor = 0;     // 0 <= floor <= ceiling
  double ceiling = 0;   // > 0
  // Loader cores needed for rate x: convex, piecewise linear, through (0,0),
  // strictly increasing. Ascending rates; the last point's slope goes on.
  struct Point {
    double rate = 0;
    double cores = 0;
  };
  std::vector<Point> cores_curve;  // at least one point with rate > 0
  double bytes_per_rate = 0;       // bytes/s of storage per unit of rate
  int pool = -1;                   // index into Problem::pools, -1: none
  // No more cores than the job has runnable loader threads.
  double max_cores = 1e9;
};

struct Problem {
  double cores = 0;                  // loader cores of this node
  double ingest_bytes_per_s = 0;     // 0: no limit
  std::vector<double> pools;         // bandwidth of each, bytes/s
  std::vector<Job> jobs;
};

struct Allocation {
  struct Grant {
    uint64_t id = 0;
    double rate = 0;
    double cores = 0;
    double bytes_per_s = 0;
  };
  std::vector<Grant> grants;  // in the order of Problem::jobs
  double objective = 0;
};

enum class Objective { kThroughput, kFair, kMaxMin };

// Solves the problem exactly (throughput and max-min to 1e-9 relative, fair to
// 1e-9 of the dual gap).
// Errors: kInvalidArgument  a field is NaN, negative or not convex: names it
//         kInfeasible       the floors do not fit: names the resource
// Pure; thread-safe. O(jobs x points x resources) per pivot.
[[nodiscard]] Result<Allocation> solve(const Problem& problem,
                                       Objective objective);

// ---- Rounding to CPUs -----------------------------------------------------

struct RoundingJob {
  uint64_t id = 0;
  CpuSet home_cpus;          // the CPUs that Slurm gave it
  double reserve_cores = 0;  // trainer reserve
  double granted_cores = 0;  // from Allocation
  int loader_threads = 0;    // runnable now; away threads never exceed it
};

struct RoundingInput {
  std::vector<RoundingJob> jobs;
  CpuSet idle_cpus;                       // unallocated, lendable
  std::vector<int> numa_node_of_cpu;      // index: CPU; -1 unknown
  std::vector<int> core_of_cpu;           // physical core, for SMT siblings
};

struct Loan {
  uint64_t borrower = 0;
  uint64_t lender = 0;       // 0: unallocated CPUs
  int cpu = 0;
  double cores = 0;          // expected share of the CPU, in thousandths
};

struct Rounded {
  std::vector<Loan> loans;
  std::vector<double> realised_cores;  // per job, in thousandths
  double loss_cores = 0;               // sum of granted - realised
};

// Turns core grants into whole CPUs lent. A lender's spare cores (home CPUs
// less reserve less own grant) are spread over as few of its CPUs as hold
// them; idle CPUs go first, then CPUs of the borrower's NUMA node, whole
// physical cores together. A spare or a wish under 0.05 cores is not lent.
// Pure; deterministic.
[[nodiscard]] Rounded round_to_cpus(const RoundingInput& input);

}  // namespace penstock::allocator
