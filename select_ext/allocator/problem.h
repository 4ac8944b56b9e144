// The allocation problem of one node (docs/model.md, "The problem") and its
// solution. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/policy.h"
#include "common/result.h"
#include "common/units.h"

namespace penstock::allocator {

// One job on this node. Rates are samples/s per rank; costs are totals of the
// job's ranks on this node. Every number is finite, except that max_cores may
// be infinite.
struct Job {
  uint64_t id = 0;
  double weight = 1;   // > 0: shares x user weight
  double floor = 0;    // 0 <= floor <= ceiling
  double ceiling = 0;  // > 0
  // Loader cores needed for a rate: convex, piecewise linear, through (0,0),
  // never falling. Rates ascend; beyond the last point its slope continues. The
  // first point may be (0,0). Pass measured points that are not convex through
  // concave_hull (curve.h) first.
  struct Point {
    double rate = 0;
    double cores = 0;
  };
  std::vector<Point> cores_curve;  // at least one point with rate > 0
  double bytes_per_rate = 0;       // bytes/s of storage per unit of rate
  int pool = -1;                   // index into Problem::pools, -1: none
  // Number of runnable loader threads, as more cores are useless. The floor
  // must fit under this limit too; entitled_rate() respects it.
  double max_cores = 1e9;
};

struct Problem {
  double cores = 0;               // loader cores of this node
  double ingest_bytes_per_s = 0;  // 0: no limit
  std::vector<double> pools;      // bandwidth of each, bytes/s, > 0
  std::vector<Job> jobs;
};

struct Allocation {
  struct Grant {
    uint64_t id = 0;
    double rate = 0;
    double cores = 0;        // exactly what the rate needs
    double bytes_per_s = 0;  // exactly what the rate needs
  };
  std::vector<Grant> grants;  // in the order of Problem::jobs
  // throughput: sum of weight x rate / ceiling.
  // fair: sum of weight x log(rate) over the jobs with a rate over 0.
  // max-min: least rate / ceiling.
  // 0 without jobs.
  double objective = 0;
};

// Checks every field. solve() calls it.
// Errors: kInvalidArgument  a field is NaN, infinite or out of range, or a
//                           curve is not convex: names the job and the field
[[nodiscard]] Status validate(const Problem& problem);

// Solves the problem as a cluster of one node (cluster.h), but to 1e-9
// relative; fair to a loss of 1e-9 x the sum of weights. Capacities and
// max_cores hold to 1e-9 relative. Under throughput jobs with equal gains share
// evenly; between jobs whose gains differ by 1e-11 to 1e-4 it may lose 2e-5.
//
// A job without a floor gets rate 0 if the floors leave nothing of a resource
// that it needs. The sum of fair leaves such a job out. max-min ignores
// weights.
// Errors: kInvalidArgument  as validate, or the policy does not lend
//         kInfeasible       the floors do not fit: names the resource
// Pure; deterministic; thread-safe.
[[nodiscard]] Result<Allocation> solve(const Problem& problem, Policy policy);

// The rate that `cores` and `bytes_per_s` of storage bandwidth allow the job,
// at most its ceiling and what max_cores allow. With the job's entitlement as
// arguments this is its floor. bytes_per_s: infinity for an unlimited
// bandwidth.
// REQUIRES: a job that validate accepts; its floor is not read.
double entitled_rate(const Job& job, double cores, double bytes_per_s);

// ---- Rounding to CPUs -----------------------------------------------------

struct RoundingJob {
  uint64_t id = 0;           // > 0
  CpuSet home_cpus;          // CPUs that Slurm allocated to it
  double reserve_cores = 0;  // trainer reserve
  double granted_cores = 0;  // from Allocation
  int loader_threads = 0;    // runnable now; the limit of its away threads
  CpuSet near_cpus;          // near its tasks' GPUs; empty: unknown
};

struct RoundingInput {
  std::vector<RoundingJob> jobs;
  CpuSet idle_cpus;                   // unallocated, lendable
  std::vector<int> numa_node_of_cpu;  // index: CPU; -1 or missing: unknown
  // Physical core of each CPU, unique on the machine and equal for the hardware
  // threads of one core. Index: CPU; -1 or missing: unknown.
  std::vector<int> core_of_cpu;
};

struct Loan {
  uint64_t borrower = 0;
  uint64_t lender = 0;  // 0: unallocated CPUs
  int cpu = 0;
  double cores = 0;  // expected share of the CPU, in thousandths
};

struct Rounded {
  std::vector<Loan> loans;             // by borrower as in jobs, then by CPU
  std::vector<double> realised_cores;  // per job, in thousandths
  double loss_cores = 0;               // sum of granted - realised
};

// Turns core grants into loans of CPUs. Physical cores are always lent whole.
// NaN and negative numbers count as 0.
//
// Lenders: a spare (home CPUs less reserve less own grant) is placed on as few
// of the lender's cores as hold it. A core with several hardware threads is
// lent only if nine tenths of it are spare, because its threads slow each other
// down. A CPU is never lent if two jobs have it as a home CPU, or if another
// owner has part of its core.
//
// Borrowers: the one with the greatest unmet wish chooses first. It takes idle
// CPUs first, then CPUs near its GPUs, then CPUs of its NUMA node. Two
// borrowers may share a core that neither fills. Loader threads that the home
// share does not keep busy limit a job's away CPUs, rounded up to a core.
//
// A spare, a wish or a remainder under 0.05 cores is not lent.
// Pure; deterministic; thread-safe. O(CPUs) per loan.
[[nodiscard]] Rounded round_to_cpus(const RoundingInput& input);

}  // namespace penstock::allocator
