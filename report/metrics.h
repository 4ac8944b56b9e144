// A node's figures in Prometheus' text format 0.0.4, for node_exporter's
// textfile collector. Plain values; pure. docs/metrics.md lists the families.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/node_status.h"
#include "report/report.h"

namespace penstock {

// A job's figures that only rise. nullopt: unknown.
struct JobCounters {
  std::optional<double> home_cpu_s;  // loader threads on the job's CPUs
  std::optional<double> away_cpu_s;  // loader threads on lent CPUs
  std::optional<double> trainer_cpu_s;
  std::optional<double> samples;
  std::optional<double> read_bytes;
  std::optional<double> gpu_busy_s;  // averaged over the job's GPUs
  WallParts wall_s;
  std::array<uint64_t, kGrantCauseCount> changes{};  // by GrantCause

  friend bool operator==(const JobCounters&, const JobCounters&) = default;
};

// Those of one value.
inline constexpr std::array<std::optional<double> JobCounters::*, 6>
    kJobFigures = {&JobCounters::home_cpu_s,    &JobCounters::away_cpu_s,
                   &JobCounters::trainer_cpu_s, &JobCounters::samples,
                   &JobCounters::read_bytes,    &JobCounters::gpu_busy_s};

// Updates the published counters `told` to `now`; no counter decreases. A
// figure that is now lower or unknown keeps its value.
//
// The parts of the wall time are recomputed each time and may shrink. They rise
// together by at most the growth of the wall time, so their sum never exceeds
// it. A part that was published too high waits until the wall time catches up.
void raise(JobCounters& told, const JobCounters& now);

// A job's current state, in addition to its report.
struct JobMetrics {
  double granted_home_cores = 0;
  double granted_away_cores = 0;
  std::optional<double> granted_bytes_per_s;  // nullopt: no limit
  std::optional<double> rate;                 // samples/s over the last seconds
  uint32_t gpus = 0;                          // of Slurm
  // Loans that an observed job would have now; nullopt: it is not observed.
  std::optional<double> imagined_borrowed_cores;
  std::optional<double> imagined_lent_cores;
  JobCounters counters;
};

struct LatencySums {
  double rebalance_ms = 0;
  double recall_ms = 0;
  double launch_ms = 0;
  double grant_ms = 0;
};

struct NodeMetrics {
  NodeStatus status;             // with the jobs of all users
  std::vector<JobMetrics> jobs;  // one per status.jobs, in the same order
  LatencySums latency_sums;
  double lent_cores = 0;  // CPUs with loader threads away on them
  double idle_cores = 0;  // lendable CPUs that no job holds
};

// Ends with a newline. Each family has its HELP and TYPE once, before its
// samples; a family without samples is left out, as are unknown figures. The
// text holds no text of a user.
// REQUIRES: as many metrics.jobs as metrics.status.jobs.
std::string to_prometheus(const NodeMetrics& metrics);

}  // namespace penstock
