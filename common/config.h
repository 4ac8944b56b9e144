// penstock.conf: Slurm-style "Key=value" lines, '#' comments, a trailing
// backslash continues a line. Keys are case-insensitive. Documented in
// docs/man/penstock.conf.5. Pure but for load_config().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace penstock {

enum class Policy {
  kThroughput,  // max sum of weighted x/ceiling
  kFair,        // max sum of weighted log x
  kMaxMin,      // lexicographic max-min of x/ceiling
  kEven,        // no lending; every pool split evenly over the running
                // managed jobs: A-Dloader's baseline, for comparison
};
enum class LendAcross { kAny, kAccount, kUser };

// Pool=NAME Path=/mount Bandwidth=RATE
struct PoolConfig {
  std::string name;
  std::string path;  // a directory on the file system; its device is looked up
  uint64_t bandwidth_bytes_per_s = 0;
};

struct Config {
  std::string socket_path = "/run/penstock/penstockd.sock";
  std::string state_dir = "/run/penstock";            // survives our restart
  std::string report_dir = "/var/log/penstock/reports";
  std::string profile_dir = "/etc/slurm/penstock.profiles.d";
  std::string cgroup_root = "/sys/fs/cgroup";         // where v1 controllers are
  std::string cgroup_name = "penstock";               // our groups' name there
  Policy policy = Policy::kThroughput;
  bool default_auto = false;    // Default=auto|off
  bool lend_idle = true;        // LendIdle
  LendAcross lend_across = LendAcross::kAny;
  bool away_yields = true;      // AwayYields: cpu.idle on the away groups
  double max_weight = 1.0;      // MaxWeight
  uint64_t sample_period_ms = 1000;      // SamplePeriod (ms)
  uint64_t min_solve_interval_ms = 50;   // MinSolveInterval (ms)
  double report_min_seconds = 30.0;      // ReportMinTime: no recommendations
                                         // for shorter jobs
  std::string log_level = "info";        // LogLevel=error|warning|info|debug
  std::string managed_cpus;              // ManagedCPUs=0-1: what LendIdle may
                                         // lend; default: all online CPUs
  std::vector<PoolConfig> pools;
};

// Parses and validates the text of a file; file_name is for messages only.
// Errors: kInvalidArgument  "FILE:LINE: Key=value: why; what is allowed".
// Unknown keys and keys given twice (but for Pool, whose names must differ)
// are refused.
[[nodiscard]] Result<Config> parse_config(std::string_view text,
                                          const std::string& file_name);

// Reads path and parses it. A file not owned by root or by the caller, or
// writable by group or others, is refused; so is one over 1 MiB.
// A missing file is kNotFound.
[[nodiscard]] Result<Config> load_config(const std::string& path);

const char* policy_name(Policy policy);

}  // namespace penstock
