// A job's running totals, and its counters at one time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "cgroup/backend.h"
#include "node_agent/page_sums.h"
#include "node_agent/plan/attribution.h"
#include "node_agent/plan/gpu_use.h"
#include "report/report.h"

namespace penstock {

// Running totals since the job was first seen.
struct Totals {
  double home_cpu_s = 0;    // loader threads at home
  double away_cpu_s = 0;    // loader threads away
  double home_delay_s = 0;  // run delay of loader threads at home
  double lent_cpu_s = 0;    // used by other jobs' away threads on its CPUs
  double credited_away_cpu_s = 0;  // part of away_cpu_s credited to lenders
  std::map<uint64_t, double> lent_by_cpu_s;  // by lender; 0: idle CPUs
  LoaderTime loader;        // blocked_s: only if LoaderUse::watches_states
  WaitSplit by_kernel;      // split of the waiting time, summed over ranks
  double job_cpu_s = 0;     // the whole job
  double contention_s = 0;  // see contention_s(), summed over the ranks
  double granted_home_core_s = 0;
  double granted_away_core_s = 0;
  std::array<double, kNotLentCount> not_lent_core_s{};  // by NotLent
  double granted_bytes = 0;  // integral of the bandwidth limit
  double read_bytes = 0;     // meaningful if PoolReads::knows_bytes
  std::optional<Pressure> pressure;
  GpuTotals gpus;
};

// CPU time used between two readings of Totals, in seconds. home + away +
// trainer is the whole.
struct CpuUse {
  // CPU time of loader threads at home and away.
  double home_s = 0;
  double away_s = 0;
  std::optional<double> trainer_s;  // nullopt: the job's CPU time is unknown

  double loader_s() const { return home_s + away_s; }
};

// CPU time from the earlier to the later reading. The trainer's part is unknown
// if `earlier` has no reading of the job's CPU time (job_cpu_s is 0).
CpuUse cpu_use(const Totals& earlier, const Totals& later);

// Counters of the whole job at one time, for differences.
struct Counters {
  uint64_t time_ns = 0;
  uint64_t updated_ns = 0;  // the newest update of its pages
  PageCounters pages;
  LoaderTime loader;
  double read_bytes = 0;
  double loader_cpu_s = 0;
  double home_cpu_s = 0;  // part of loader_cpu_s: at home
  double job_cpu_s = 0;
};

// How long the trainers waited for a CPU that their own loader used, between
// two readings, summed over the ranks. It is the run delay in the pages. The
// loader's CPU time at home limits it, and so does busy_s, the time not spent
// waiting for data or the exchange. Away threads and other jobs do not count.
double contention_s(const Counters& earlier, const Counters& later,
                    double busy_s);

}  // namespace penstock
