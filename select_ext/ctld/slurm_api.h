// Penstock's interface to Slurm, replaceable in tests. slurm_api.cpp implements
// it with libslurm; no other file of the daemons includes libslurm's header.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/result.h"
#include "wire/job_record.h"

namespace penstock {

enum class SlurmPhase {
  kWaiting,    // pending, or its nodes boot or run their prolog
  kRunning,    // its tasks may run
  kSuspended,  // stopped, but holds its nodes
  kEnded,      // finished, for any reason
};

// A job as slurmctld shows it. Each running task of an array, and each
// component of a heterogeneous job, is a job of its own.
struct SlurmJob : SlurmLabels {
  std::string command;  // of a batch job: the script's path and arguments
  SlurmPhase phase = SlurmPhase::kWaiting;
  std::string nodes;  // "n[1-3]" that it holds or held; "": none yet
  uint32_t node_count = 0;
  uint32_t cpus = 0;  // of all nodes
  uint32_t tasks = 0;
  std::string gres_per_node;  // as requested: "gres:gpu:2,gres:loader_cpu:8"
  int64_t submit_unix_s = 0;
  int64_t start_unix_s = 0;  // expected, while it waits
  int64_t end_unix_s = 0;    // expected, until it has ended

  friend bool operator==(const SlurmJob&, const SlurmJob&) = default;
};

struct SlurmNode {
  std::string name;
  uint32_t cpus = 0;  // hardware threads, by slurm.conf or slurmd

  friend bool operator==(const SlurmNode&, const SlurmNode&) = default;
};

struct SlurmSite {
  std::string cluster;  // ClusterName
  uint32_t slurm_user = 0;

  friend bool operator==(const SlurmSite&, const SlurmSite&) = default;
};

class SlurmApi {
 public:
  virtual ~SlurmApi() = default;

  // All jobs known to slurmctld; nullopt: no change since the last successful
  // call.
  // Errors: kUnavailable  slurmctld does not answer; the call may have blocked
  //                       for longer than Slurm's MessageTimeout
  [[nodiscard]] virtual Result<std::optional<std::vector<SlurmJob>>>
  load_jobs() = 0;
  [[nodiscard]] virtual Result<std::optional<std::vector<SlurmNode>>>
  load_nodes() = 0;
  [[nodiscard]] virtual Result<SlurmSite> load_site() = 0;
  // The users with AdminLevel=Operator or Administrator, as slurmctld has them
  // of its accounting; none without accounting.
  [[nodiscard]] virtual Result<std::set<uint32_t>> load_operators() = 0;
};

// Calls libslurm against the slurmctld of slurm.conf ($SLURM_CONF). One per
// process; not thread-safe. It blocks, so SlurmPoller runs it in its own
// thread. libslurm exits the process if slurm.conf exists but is wrong.
// Errors: kNotFound  no slurm.conf: names the file
[[nodiscard]] Result<std::unique_ptr<SlurmApi>> make_slurm_api();

}  // namespace penstock
