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
// job's ranks on this node together. Every number is finite, except that
// max_cores may be infinite.
struct Job {
  uint64_t id = 0;
  double weight = 1;   // > 0: GPUs x user weight
  double floor = 0;    // 0 <= floor <= ceiling
  double ceiling = 0;  // > 0
  // Loader cores needed for rate x: convex, piecewise linear, through (0,0),
  // never falling. Rates ascend; the last point's slope goes on. A first point
  // (0,0) may be given or left out. Measured points that are not convex pass
  // through concave_hull (curve.h) first.
  struct Point {
    double rate = 0;
    double cores = 0;
  };
  std::vector<Point> cores_curve;  // at least one point with rate > 0
  double bytes_per_rate = 0;       // bytes/s of storage per unit of rate
  int pool = -1;                   // index into Problem::pools, -1: none
  // No more cores than the job has runnable loader threads. Its floor must
  // fit under this too: entitled_rate() sees to it.
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
    double cores = 0;        // what the rate needs, never more
    double bytes_per_s = 0;  // what the rate needs, never more
  };
  std::vector<Grant> grants;  // in the order of Problem::jobs
  // throughput: sum of weight x rate / ceiling. fair: sum of weight x
  // log(rate) over the jobs that have a rate. max-min: least rate / ceiling.
  // 0 without jobs.
  double objective = 0;
};

// kMaxMin does not look at weights (DESIGN section 4).
enum class Objective { kThroughput, kFair, kMaxMin };

// Checks every field; `solve` does so itself.
// Errors: kInvalidArgument  a field is NaN, infinite, out of range or a curve
//                           is not convex: names the job and the field
[[nodiscard]] Status validate(const Problem& problem);

// Solves the problem exactly: throughput and max-min to 1e-9 relative, fair
// to a duality gap of 1e-9 x the sum of weights. Capacities and max_cores
// hold to 1e-9 relative.
// A job without a floor for which a resource has nothing left gets rate 0,
// also under kFair, whose sum then leaves it out.
// Errors: kInvalidArgument  as validate
//         kInfeasible       the floors do not fit: names the resource
//         kLimit            the simplex method ran out of pivots
// Pure; deterministic; thread-safe. O(jobs x points x resources) per pivot.
[[nodiscard]] Result<Allocation> solve(const Problem& problem,
                                       Objective objective);

// The rate that so many cores and so much storage bandwidth allow `job`, never
// over its ceiling nor over what max_cores allow; its floor, where they are
// its entitlement. bytes_per_s: infinity where the job's bandwidth is not
// limited.
// REQUIRES: a job that validate accepts (its floor is not looked at).
double entitled_rate(const Job& job, double cores, double bytes_per_s);

// ---- Rounding to CPUs -----------------------------------------------------

struct RoundingJob {
  uint64_t id = 0;           // > 0
  CpuSet home_cpus;          // the CPUs that Slurm gave it
  double reserve_cores = 0;  // trainer reserve
  double granted_cores = 0;  // from Allocation
  int loader_threads = 0;    // runnable now; away threads never exceed it
  CpuSet near_cpus;          // near its tasks' GPUs; empty: unknown
};

struct RoundingInput {
  std::vector<RoundingJob> jobs;
  CpuSet idle_cpus;                   // unallocated, lendable
  std::vector<int> numa_node_of_cpu;  // index: CPU; -1 or missing: unknown
  // Physical core, unique on the machine, the same for its hardware threads;
  // as above.
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

// Turns core grants into CPUs lent, whole physical cores always. A lender's
// spare cores (home CPUs less reserve less own grant) are spread over as few of
// its cores as hold them; one with several hardware threads is lent only where
// nine tenths of it are spare, as whoever runs on one feels the others. Idle
// CPUs go first, then those near the borrower's GPUs, then those of its NUMA
// node. A spare, a wish or a remainder under 0.05 cores is not lent. Borrowers
// with the greatest unmet wish choose first; two may share a core whose share
// one does not fill. A job has at most as many away CPUs as it has loader
// threads beyond those that its home share keeps busy, rounded up to a core. A
// CPU that two jobs call home, or of whose core somebody else has a part, is
// never lent. NaN and negative numbers count as 0. Pure; deterministic;
// thread-safe. O(CPUs) per loan.
[[nodiscard]] Rounded round_to_cpus(const RoundingInput& input);

}  // namespace penstock::allocator
