// penstock.conf: Slurm-style "Key=value" lines, one setting per line (a Pool
// line has three), '#' comments, double quotes round a value with spaces, a
// trailing backslash continues a line. Keys are case-insensitive. Documented
// in docs/man/penstock.conf.5. Pure but for load_config().
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
enum class SubmitComment { kNo, kComment, kAdminComment };

// Pool=NAME Path=/mount Bandwidth=RATE [Shared=yes|no]
struct PoolConfig {
  std::string name;
  std::string path;  // a directory on the file system; its device is looked up
  uint64_t bandwidth_bytes_per_s = 0;
  // All nodes read from it together: with Controller= its bandwidth is divided
  // among them. no: each node has so much.
  bool shared = true;
};

// Where a penstockctld listens.
struct ControllerAddress {
  static constexpr int kDefaultPort = 6830;

  std::string host;  // a name, or an address without brackets
  int port = kDefaultPort;

  std::string to_string() const;  // "host:port", "[::1]:port"
  friend bool operator==(const ControllerAddress&,
                         const ControllerAddress&) = default;
};

// "host[:port][,host[:port]...]", at most 8.
// Errors: kInvalidArgument  says what is wrong with which
[[nodiscard]] Result<std::vector<ControllerAddress>> parse_controllers(
    std::string_view text);

struct Config {
  std::string socket_path = "/run/penstock/penstockd.sock";  // SocketPath
  std::string state_dir = "/run/penstock";                   // StateDir:
                                            // survives our restart
  std::string report_dir = "/var/log/penstock/reports";  // ReportDir
  std::string metrics_file;  // MetricsFile, ends in .prom; "": none is written
  std::string profile_dir = "/etc/slurm/penstock.profiles.d";  // ProfileDir
  std::string cgroup_root = "/sys/fs/cgroup";  // CgroupRoot: where the v1
                                               // controllers are
  std::string cgroup_name = "penstock";        // CgroupName: our groups' name
  Policy policy = Policy::kThroughput;  // Policy=throughput|fair|maxmin|even
  bool default_auto = false;            // Default=auto|off
  bool lend_idle = true;                // LendIdle=yes|no
  LendAcross lend_across = LendAcross::kAny;  // LendAcross=any|account|user
  bool away_yields = true;  // AwayYields=yes|no: cpu.idle on away groups
  double max_weight = 1.0;  // MaxWeight, 0.001..1000
  uint64_t sample_period_ms = 1000;     // SamplePeriod, 100..60000
  uint64_t min_solve_interval_ms = 50;  // MinSolveInterval, 1..60000
  double report_min_seconds = 30.0;     // ReportMinTime, 0..86400: no
                                        // recommendations for shorter jobs
  uint64_t cache_keep_s = 0;  // CacheKeep, 0..604800: how long a cache that
                              // its user keeps stays when no job uses it
  std::string log_level = "info";  // LogLevel=error|warning|info|debug
  std::string gpu_type;            // GPUType: of this node's GPUs, a name that
                                   // penstock predict --list-gpus has
  std::string managed_cpus;        // ManagedCPUs=0-1: what LendIdle may lend;
                                   // "": all online CPUs
  std::vector<PoolConfig> pools;   // at most 64; names and paths differ
  // Controller=HOST[:PORT][,...], the primary first; none: each node is solved
  // alone.
  std::vector<ControllerAddress> controllers;
  uint64_t controller_timeout_s = 30;  // ControllerTimeout, 2..3600
  std::string controller_state_dir = "/var/lib/penstock";  // ControllerStateDir
  std::string munge_socket;  // MungeSocket; "": this machine's munged's
  std::string history_file = "/var/lib/penstock/history.sqlite";  // HistoryFile
  uint64_t history_retention_days = 365;  // HistoryRetention, 1..36500

  // Of job_submit_penstock.so, which slurmctld loads.
  std::string submit_table =
      "/var/lib/penstock/demand_table";  // SubmitTable: published demand
  std::string submit_socket =
      "/run/penstock/submit.sock";  // SubmitSocket: penstockctld's, for
                                    // datagrams
  // loader_cpu and loader_bw of the smallest node in slurm.conf; 0: that GRES
  // is not added to jobs.
  uint64_t submit_node_cores = 0;                  // SubmitNodeCores, 0..4096
  uint64_t submit_node_bandwidth_bytes_per_s = 0;  // SubmitNodeBandwidth
  double submit_overcommit = 1.0;  // SubmitOvercommit, 0.1..100: demand is
                                   // divided by it
  SubmitComment submit_comment =
      SubmitComment::kNo;    // SubmitComment=no|comment|admin_comment
  std::string submit_model;  // SubmitModel: the profile of jobs that name none;
                             // "": they get no loader GRES

  // Whether the plugin makes anything of the table.
  bool uses_submit_table() const {
    return submit_node_cores > 0 || submit_node_bandwidth_bytes_per_s > 0 ||
           submit_comment != SubmitComment::kNo;
  }
};

// Parses and validates the text of a file; file_name is for messages only.
// Errors: kInvalidArgument  "FILE:LINE: Key=value: why; what is allowed".
// Unknown keys and keys given twice (but for Pool, whose names and paths must
// differ) are refused; the message names both lines. LINE is the first one of
// a continued line.
[[nodiscard]] Result<Config> parse_config(std::string_view text,
                                          const std::string& file_name);

// Reads path and parses it. Symbolic links are followed: what is checked is
// the file that was opened.
// Errors: kNotFound          there is no such file
//         kPermissionDenied  owned by neither root nor the caller, or writable
//                            by group or others; names the remedy
//         kLimit             over 1 MiB
//         kInvalidArgument   not a regular file, or parse_config()'s
//         kIo                reading failed
[[nodiscard]] Result<Config> load_config(const std::string& path);

const char* policy_name(Policy policy);

}  // namespace penstock
