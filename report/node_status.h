// The live state of one node: penstockd's reply to PENSTOCK_STATUS, shown by
// `penstock top`. Plain values; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/report.h"

namespace penstock {

inline constexpr size_t kMaxStatusJobs = 1024;
inline constexpr size_t kMaxStatusPools = 256;

// Times of one kind of event since penstockd started; nullopt before the first
// event.
struct LatencyFigures {
  uint64_t count = 0;
  std::optional<double> p50_ms;
  std::optional<double> p99_ms;
  std::optional<double> max_ms;

  friend bool operator==(const LatencyFigures&,
                         const LatencyFigures&) = default;
};

struct PoolStatus {
  std::string name;
  double bandwidth_bytes_per_s = 0;
  std::optional<double> used_bytes_per_s;
  uint32_t jobs = 0;

  friend bool operator==(const PoolStatus&, const PoolStatus&) = default;
};

struct NodeStatus {
  int schema_version = kReportSchemaVersion;
  std::string node;
  std::string version;  // of penstockd
  std::string policy;
  double time_unix_s = 0;
  double uptime_s = 0;
  double agent_cpu_s = 0;  // CPU time of penstockd
  double cores = 0;        // CPUs usable by managed jobs or for lending
  std::optional<double> off_since_unix_s;  // nullopt: Penstock is on
  // Why idle CPUs are not lent despite LendIdle=yes; "": they may be.
  std::string idle_not_lent;
  // From the exit of a job's last task until the kernel has the new grants.
  LatencyFigures rebalance;
  // From the owner's need of a lent CPU until the away thread is home.
  LatencyFigures recall;
  // The plugin's time on the critical path of a launch.
  LatencyFigures launch;
  // From a controller's decision until the kernel has its grant, by the two
  // machines' clocks.
  LatencyFigures grant;
  std::vector<PoolStatus> pools;
  // The running jobs that the client may see, without changes and timeline.
  std::vector<JobReport> jobs;

  friend bool operator==(const NodeStatus&, const NodeStatus&) = default;
};

// Result of a PENSTOCK_SWITCH.
struct NodeSwitch {
  std::optional<double> off_since_unix_s;  // nullopt: Penstock is on
  // off: jobs whose grants were returned to Slurm; on: jobs that take part
  // again.
  uint32_t jobs = 0;
  uint32_t not_home = 0;  // off: jobs not completely home yet; ask again

  friend bool operator==(const NodeSwitch&, const NodeSwitch&) = default;
};

}  // namespace penstock
