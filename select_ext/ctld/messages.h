// What agents and controllers say to each other: the bodies of envelopes
// (envelope.h, docs/protocol.md). Plain values; reading and writing is pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/result.h"
#include "select_ext/ctld/bounds.h"
#include "select_ext/ctld/run_totals.h"

namespace penstock {

inline constexpr size_t kMaxParts = 4096;  // of one node
inline constexpr size_t kMaxGrantPools = 64;

// The ranks of one job on the sender's node.
struct JobPart {
  uint64_t id = 0;
  uint32_t uid = 0;
  std::string name;
  double started_unix_s = 0;
  double ranks = 1;   // > 0
  double shares = 1;  // ranks that count for weight and pools, > 0
  double weight = 1;  // the user's, > 0
  // Nothing tells what a sample costs: `ceiling` and `max_cores` are in loader
  // cores of all ranks here, and the two costs mean nothing.
  bool in_cores = false;
  double ceiling = 0;  // samples/s per rank, > 0
  double loader_cpu_s_per_sample = 0;
  double storage_bytes_per_sample = 0;
  std::string pool;             // "": none
  double entitled_cores = 0;    // of all ranks here, less the trainer reserve
  double max_cores = 0;         // that its loader threads here can use
  double max_bytes_per_s = 0;   // the user's --loader-bw; 0: no bound
  bool on_entitlement = false;  // its pages contradict the kernel
  bool pool_pressed = false;    // reads as fast as its limit lets it
  bool is_measured = false;     // `ceiling` and costs are not a profile's
  // For the history alone; "" and 0: not known. Those after `batch` are what
  // they were when something else was said, or the run had grown by a quarter.
  std::string model;                 // the profile that the user named
  uint32_t batch = 0;                // samples of a step
  double trainer_reserve_cores = 0;  // of all ranks here
  double mean_rate = 0;              // samples/s per rank, of the whole run
  uint64_t grant_changes = 0;
  RunTotals run;  // of the ranks here

  friend bool operator==(const JobPart&, const JobPart&) = default;
};

// ---- From an agent. Each says how many loader cores its node has now: those
// of its managed jobs less their reserves, and unallocated ones.

// All that a controller must know of the node; what it knew is replaced.
struct NodeHello {
  double cpus = 0;  // of the node, at most these are loader cores
  double loader_cores = 0;
  uint64_t term = 0;     // the highest seen
  double silence_s = 0;  // since a controller of that term was last heard
  std::vector<JobPart> parts;

  friend bool operator==(const NodeHello&, const NodeHello&) = default;
};

// A job that has started here, or differs from what was last said.
struct JobChanged {
  double loader_cores = 0;
  JobPart part;

  friend bool operator==(const JobChanged&, const JobChanged&) = default;
};

// The job has no ranks here any more.
struct JobEnded {
  double loader_cores = 0;
  uint64_t id = 0;
  std::optional<JobPart> last;  // as it was when it ended

  friend bool operator==(const JobEnded&, const JobEnded&) = default;
};

struct Heartbeat {
  double loader_cores = 0;
  uint64_t term = 0;     // the highest seen
  uint64_t version = 0;  // of the grant in force; 0: none
  double silence_s = 0;

  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

// A grant of an older term or version was not applied.
struct Refused {
  uint64_t term = 0;     // the refused grant's
  uint64_t version = 0;  // the refused grant's
  uint64_t highest_term = 0;

  friend bool operator==(const Refused&, const Refused&) = default;
};

using AgentMessage =
    std::variant<NodeHello, JobChanged, JobEnded, Heartbeat, Refused>;

// ---- From a controller

// What earlier runs of a job's kind have measured, per rank; 0: not known.
struct EarlierFigures {
  double ceiling = 0;  // samples/s, > 0
  double loader_cpu_s_per_sample = 0;
  double trainer_cpu_s_per_sample = 0;
  double storage_bytes_per_sample = 0;
  double relative_error = 0;  // half width of the 90% interval, [0, 1)

  friend bool operator==(const EarlierFigures&,
                         const EarlierFigures&) = default;
};

// Of a job with ranks on the node. Rates are samples/s per rank.
struct JobGrant {
  uint64_t id = 0;
  double floor = 0;
  // At which all its ranks move; sent for jobs that span nodes only, because
  // the others' rates are the node's own affair. 0: none.
  double rate = 0;
  std::optional<EarlierFigures> earlier;  // of a job that nothing else tells of

  friend bool operator==(const JobGrant&, const JobGrant&) = default;
};

struct PoolGrant {
  std::string name;
  double bytes_per_s = 0;            // for this node's jobs together
  double node_shares = 0;            // of this node's jobs, as far as is known
  double all_shares = 0;             // of all jobs that read from it
  double bandwidth_bytes_per_s = 0;  // of the whole pool

  friend bool operator==(const PoolGrant&, const PoolGrant&) = default;
};

// All that one node is granted; what was granted before is void.
struct NodeGrant {
  uint64_t term = 0;     // > 0
  uint64_t version = 0;  // of this node's grants in this term, > 0
  double decided_unix_s = 0;
  uint64_t seen_sequence = 0;  // the node's last message that it reckons with
  std::vector<JobGrant> jobs;
  std::vector<PoolGrant> pools;

  friend bool operator==(const NodeGrant&, const NodeGrant&) = default;
};

// The active controller is alive: answers a heartbeat.
struct Beat {
  uint64_t term = 0;  // > 0

  friend bool operator==(const Beat&, const Beat&) = default;
};

// Something is missing: say hello again.
struct Resync {
  friend bool operator==(const Resync&, const Resync&) = default;
};

using ControllerMessage = std::variant<NodeGrant, Beat, Resync>;

// An envelope's type and body.
// NOLINTNEXTLINE(bugprone-exception-escape): moving a json throws nothing.
struct TypedBody {
  std::string type;
  nlohmann::json body;
};

TypedBody body_of(const AgentMessage& message);
TypedBody body_of(const ControllerMessage& message);

// Fields that are not known are ignored.
// Errors: kInvalidArgument  names the type, the field, and what is allowed
//         kLimit            too many jobs or pools
[[nodiscard]] Result<AgentMessage> read_agent_message(
    const std::string& type, const nlohmann::json& body);
[[nodiscard]] Result<ControllerMessage> read_controller_message(
    const std::string& type, const nlohmann::json& body);

}  // namespace penstock
