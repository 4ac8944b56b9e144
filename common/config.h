// penstock.conf: Slurm-style "Key=value" lines, one setting per line. (A Pool
// or Mode line has several.) '#' begins a comment, double
// quotes enclose a value with spaces, a trailing backslash continues a line.
// Keys are case-insensitive. Documented in docs/man/penstock.conf.5.
// Pure, except for load_config().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/mode_rules.h"
#include "common/policy.h"
#include "common/result.h"

namespace penstock {

enum class LendAcross { kAny, kAccount, kUser };

// Which jobs without GPUs are guests: they use CPUs that others leave idle, and
// give way to all of them.
struct GuestRule {
  bool if_asked = false;                // those with PENSTOCK_MODE_GUEST
  std::vector<std::string> partitions;  // all those of these partitions
};

enum class ReportNotice { kOff, kProblems, kAll };
enum class SubmitComment { kNo, kComment, kAdminComment };

// Pool=NAME Path=/mount Bandwidth=RATE [Shared=yes|no]
struct PoolConfig {
  std::string name;
  std::string path;  // a directory on the file system; identifies its device
  uint64_t bandwidth_bytes_per_s = 0;
  // yes: the bandwidth is the total of all nodes; with Controller= it is
  // divided among them. no: each node has this bandwidth.
  bool shared = true;
};

// Address of a penstockctld.
struct ControllerAddress {
  static constexpr int kDefaultPort = 6830;

  std::string host;  // a name, or an address without brackets
  int port = kDefaultPort;

  std::string to_string() const;  // "host:port", "[::1]:port"
  friend bool operator==(const ControllerAddress&,
                         const ControllerAddress&) = default;
};

// Parses "host[:port][,host[:port]...]", at most 8 addresses.
// Errors: kInvalidArgument  the message gives the reason
[[nodiscard]] Result<std::vector<ControllerAddress>> parse_controllers(
    std::string_view text);

// A field has the name of its key, and a unit. penstock.conf(5) describes the
// keys, config_keys.cpp has their allowed values. "": not set.
struct Config {
  std::string socket_path = "/run/penstock/penstockd.sock";
  std::string state_dir = "/run/penstock";  // survives our restart
  std::string report_dir = "/var/log/penstock/reports";
  std::string metrics_file;
  std::string profile_dir = "/etc/slurm/penstock.profiles.d";
  std::string cgroup_root = "/sys/fs/cgroup";  // mount point of v1 or v2
  std::string cgroup_name = "penstock";
  std::vector<ModeRule> modes;  // at most kMaxModeRules; see mode_of()
  Policy policy = kDefaultPolicy;
  bool default_auto = false;
  bool watch = true;
  bool lend_idle = true;
  LendAcross lend_across = LendAcross::kAny;
  GuestRule guests;  // none as shipped
  bool away_yields = true;
  // Moves processes even if a user can make the kernel wait for ever in a move
  // (cgroup/attach_lock.h).
  bool always_moves = false;
  double max_weight = 1.0;
  uint64_t sample_period_ms = 1000;
  uint64_t min_solve_interval_ms = 50;
  double report_min_seconds = 30.0;
  ReportNotice report_notice = ReportNotice::kOff;
  uint64_t cache_keep_s = 0;
  std::string log_level = "info";
  std::string gpu_type;  // a name of penstock predict --list-gpus
  std::string managed_cpus;
  std::vector<PoolConfig> pools;  // at most 64; names and paths differ
  std::vector<ControllerAddress> controllers;  // the primary first
  bool listens_everywhere = true;  // false: at its host's addresses alone
  uint64_t controller_timeout_s = 30;
  std::string controller_state_dir = "/var/lib/penstock";
  std::string munge_socket;
  // Accounts of the daemons, by name or number; they need not exist here
  // (link/trust.h).
  std::string controller_user = "penstock";
  std::string agent_user = "penstock";
  std::string history_file = "/var/lib/penstock/history.sqlite";
  uint64_t history_retention_days = 365;
  uint64_t report_retention_days = 90;  // of reports kept by controllers

  // Settings of job_submit_penstock.so, which slurmctld loads.
  std::string submit_table = "/var/lib/penstock/demand_table";
  std::string submit_socket =
      "/run/penstockctld/submit.sock";  // of penstockctld
  // loader_cpu and loader_bw of the smallest node in slurm.conf; 0: the plugin
  // does not add that GRES to jobs.
  uint64_t submit_node_cores = 0;
  uint64_t submit_node_bandwidth_bytes_per_s = 0;
  double submit_overcommit = 1.0;  // divisor of the demand
  SubmitComment submit_comment = SubmitComment::kNo;
  std::string submit_model;  // profile of jobs without a model

  // Whether the plugin uses the demand table.
  bool uses_submit_table() const {
    return submit_node_cores > 0 || submit_node_bandwidth_bytes_per_s > 0 ||
           submit_comment != SubmitComment::kNo;
  }
};

// Parses and validates the text of a file; file_name is for messages only.
// Errors: kInvalidArgument  "FILE:LINE: Key=value: why; what is allowed".
//   LINE is the first line of a continued one. Unknown and duplicate keys are
//   errors; for a duplicate the message names both lines. Mode may be repeated,
//   and Pool with a different name and path.
[[nodiscard]] Result<Config> parse_config(std::string_view text,
                                          const std::string& file_name);

// The settings in the syntax of penstock.conf, to be read back; a comment for
// each key that is not set.
std::string config_text(const Config& config);

// Reads and parses path. Follows symbolic links; checks the opened file.
// Errors: kNotFound          there is no such file
//         kPermissionDenied  owned by neither root nor the caller, or writable
//                            by group or others; the message gives the remedy
//         kLimit             over 1 MiB
//         kInvalidArgument   not a regular file, or parse_config()'s
//         kIo                reading failed
[[nodiscard]] Result<Config> load_config(const std::string& path);

}  // namespace penstock
