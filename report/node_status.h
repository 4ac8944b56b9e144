// The live state of one node, as penstockd answers PENSTOCK_STATUS and
// `penstock top` shows it. Plain values; pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/report.h"

namespace penstock {

inline constexpr size_t kMaxStatusJobs = 1024;
inline constexpr size_t kMaxStatusPools = 256;

// Times of one kind of event since penstockd started; nullopt before the
// first.
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
  double cores = 0;        // CPUs that may be lent or used by managed jobs
  std::optional<double> off_since_unix_s;  // nullopt: Penstock is on
  // A job's last task exiting until the new grants stand in the kernel.
  LatencyFigures rebalance;
  // A lent CPU wanted by its owner until the away thread is home.
  LatencyFigures recall;
  // The plugin's time on a launch's critical path.
  LatencyFigures launch;
  // A controller's decision until its grant stands in the kernel, by the two
  // machines' clocks.
  LatencyFigures grant;
  std::vector<PoolStatus> pools;
  // The running jobs that the asker may see; changes and course are left
  // out.
  std::vector<JobReport> jobs;

  friend bool operator==(const NodeStatus&, const NodeStatus&) = default;
};

// What a PENSTOCK_SWITCH has done.
struct NodeSwitch {
  std::optional<double> off_since_unix_s;  // nullopt: Penstock is on
  // off: had something that is Slurm's now; on: may be given something again.
  uint32_t jobs = 0;
  uint32_t not_home = 0;  // off: of which not all is home yet; ask again

  friend bool operator==(const NodeSwitch&, const NodeSwitch&) = default;
};

}  // namespace penstock
