// A node's figures as text for Prometheus (its text format 0.0.4), as
// node_exporter's textfile collector takes it. Plain values; pure.
// docs/metrics.md lists the families.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/node_status.h"
#include "report/report.h"

namespace penstock {

// The parts of a breakdown, in the order of kBreakdownParts; nullopt: could not
// be told.
using WallParts = std::array<std::optional<double>, kBreakdownParts>;
WallParts wall_parts_s(const Breakdown& breakdown);

// A job's figures that only rise. nullopt: not known.
struct JobCounters {
  std::optional<double> home_cpu_s;  // of loader threads on the job's CPUs
  std::optional<double> away_cpu_s;  // of loader threads on lent CPUs
  std::optional<double> trainer_cpu_s;
  std::optional<double> samples;
  std::optional<double> read_bytes;
  WallParts wall_s;
  std::array<uint64_t, kGrantCauseCount> changes{};  // by GrantCause

  friend bool operator==(const JobCounters&, const JobCounters&) = default;
};

// Makes told what now says, without letting a figure go back: one that is less
// than it was, or no longer known, stays. Parts of the wall time, which is
// split anew each time, rise together as much as the wall time does: what was
// told of a part that now turns out less is made up for as time goes on, and
// the parts never exceed the wall time.
void raise(JobCounters& told, const JobCounters& now);

// A job as it stands now, beside its report.
struct JobMetrics {
  double granted_home_cores = 0;
  double granted_away_cores = 0;
  std::optional<double> granted_bytes_per_s;  // nullopt: no limit
  std::optional<double> rate;                 // samples/s, of the last seconds
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
  std::vector<JobMetrics> jobs;  // of status.jobs, in the same order
  LatencySums latency_sums;
  double lent_cores = 0;  // CPUs on which loader threads are away
  double idle_cores = 0;  // CPUs that no job holds and that may be lent
};

// Ends with a newline; each family has its HELP and TYPE once, before its
// samples, and none without samples. What is not known is left out. No text
// that a user wrote is in it.
// REQUIRES: as many metrics.jobs as metrics.status.jobs.
std::string to_prometheus(const NodeMetrics& metrics);

}  // namespace penstock
