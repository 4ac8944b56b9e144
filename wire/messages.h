// Messages between agents and controllers: the bodies of envelopes (envelope.h,
// docs/protocol.md). Plain values; reading and writing are pure.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/result.h"
#include "wire/bounds.h"
#include "wire/run_totals.h"

namespace penstock {

inline constexpr size_t kMaxParts = 4096;  // of one node
inline constexpr size_t kMaxGrantPools = 64;
inline constexpr size_t kMaxPackedText = 360'000;  // of a report part

// The ranks of one job on the sender's node.
struct JobPart {
  uint64_t id = 0;
  uint32_t uid = 0;
  std::string name;
  double started_unix_s = 0;
  double ranks = 1;   // > 0
  double shares = 1;  // ranks that count for weight and pools, > 0
  double weight = 1;  // the user's, > 0
  // The cost per sample is unknown: `ceiling` and `max_cores` are in loader
  // cores of all ranks here, and the two costs are undefined.
  bool in_cores = false;
  double ceiling = 0;  // samples/s per rank, > 0
  double loader_cpu_s_per_sample = 0;
  double storage_bytes_per_sample = 0;
  std::string pool;             // "": none
  double entitled_cores = 0;    // of all ranks here, less the trainer reserve
  double max_cores = 0;         // usable by its loader threads here
  double max_bytes_per_s = 0;   // the user's limit; 0: no bound
  bool on_entitlement = false;  // its pages contradict the kernel
  bool pool_pressed = false;    // it reads at its limit
  bool is_measured = false;     // ceiling and costs: measured, no profile's
  // For the history alone; "" and 0: unknown. Fields after `batch` are as of
  // the last update sent; by themselves they trigger one only after the run has
  // grown by a quarter and by a minute.
  std::string model;                 // the profile named by the user
  uint32_t batch = 0;                // samples per step
  double trainer_reserve_cores = 0;  // of all ranks here
  double mean_rate = 0;              // samples/s per rank, of the whole run
  uint64_t grant_changes = 0;
  RunTotals run;  // of the ranks here

  friend bool operator==(const JobPart&, const JobPart&) = default;
};

// ---- From an agent. `loader_cores` is the node's present number of loader
// cores: those of its managed jobs less their reserves, and unallocated ones.

// The complete state of the node; replaces the controller's.
struct NodeHello {
  double cpus = 0;  // of the node; upper bound of loader_cores
  double loader_cores = 0;
  uint64_t term = 0;     // highest term seen
  double silence_s = 0;  // since a controller of that term was last heard
  std::vector<JobPart> parts;

  friend bool operator==(const NodeHello&, const NodeHello&) = default;
};

// A job that is new here, or has changed since the last update.
struct JobChanged {
  double loader_cores = 0;
  JobPart part;

  friend bool operator==(const JobChanged&, const JobChanged&) = default;
};

// The job has no ranks here any more.
struct JobEnded {
  double loader_cores = 0;
  uint64_t id = 0;
  std::optional<JobPart> last;  // state at its end

  friend bool operator==(const JobEnded&, const JobEnded&) = default;
};

struct Heartbeat {
  double loader_cores = 0;
  uint64_t term = 0;     // highest term seen
  uint64_t version = 0;  // of the grant in force; 0: none
  double silence_s = 0;

  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

// Refuses a grant of an older term or version.
struct Refused {
  uint64_t term = 0;     // of the refused grant
  uint64_t version = 0;  // of the refused grant
  uint64_t highest_term = 0;

  friend bool operator==(const Refused&, const Refused&) = default;
};

// The report of an ended run on the sender's node. Sent again until the
// controller has answered ReportKept.
struct ReportPart {
  uint64_t id = 0;  // of the job
  uint32_t uid = 0;
  double started_unix_s = 0;  // there; tells the runs of a job apart
  double updated_unix_s = 0;  // a later step of the run makes a later report
  std::string packed;         // pack_report()'s bytes, hexadecimal

  friend bool operator==(const ReportPart&, const ReportPart&) = default;
};

using AgentMessage = std::variant<NodeHello, JobChanged, JobEnded, Heartbeat,
                                  Refused, ReportPart>;

// ---- From a controller

// Figures of earlier runs of the job's kind, per rank; 0: unknown.
struct EarlierFigures {
  double ceiling = 0;  // samples/s, > 0
  double loader_cpu_s_per_sample = 0;
  double trainer_cpu_s_per_sample = 0;
  double storage_bytes_per_sample = 0;
  double relative_error = 0;  // half width of the 90% interval, [0, 1)

  friend bool operator==(const EarlierFigures&,
                         const EarlierFigures&) = default;
};

// For a job with ranks on the node. Rates are samples/s per rank.
struct JobGrant {
  uint64_t id = 0;
  double floor = 0;
  // Common rate of all its ranks, for jobs that span nodes. 0: none, because
  // the node plans the rates of its other jobs.
  double rate = 0;
  std::optional<EarlierFigures> earlier;  // for a job of unknown cost

  friend bool operator==(const JobGrant&, const JobGrant&) = default;
};

struct PoolGrant {
  std::string name;
  double bytes_per_s = 0;            // for all jobs of this node
  double node_shares = 0;            // of this node's jobs, as far as known
  double all_shares = 0;             // of all jobs that read from it
  double bandwidth_bytes_per_s = 0;  // of the whole pool

  friend bool operator==(const PoolGrant&, const PoolGrant&) = default;
};

// The node's complete grant; replaces the previous one.
struct NodeGrant {
  uint64_t term = 0;     // > 0
  uint64_t version = 0;  // of this node's grants in this term, > 0
  double decided_unix_s = 0;
  uint64_t seen_sequence = 0;  // last message of the node that it considers
  std::vector<JobGrant> jobs;
  std::vector<PoolGrant> pools;

  friend bool operator==(const NodeGrant&, const NodeGrant&) = default;
};

// Answers a heartbeat: the active controller is alive.
struct Beat {
  uint64_t term = 0;  // > 0

  friend bool operator==(const Beat&, const Beat&) = default;
};

// Requests a hello, because a message is missing.
struct Resync {
  friend bool operator==(const Resync&, const Resync&) = default;
};

// The report is on the controller's disk.
struct ReportKept {
  uint64_t id = 0;
  double started_unix_s = 0;
  double updated_unix_s = 0;

  friend bool operator==(const ReportKept&, const ReportKept&) = default;
};

using ControllerMessage = std::variant<NodeGrant, Beat, Resync, ReportKept>;

// An envelope's type and body.
// NOLINTNEXTLINE(bugprone-exception-escape): moving a json throws nothing.
struct TypedBody {
  std::string type;
  nlohmann::json body;
};

TypedBody body_of(const AgentMessage& message);
TypedBody body_of(const ControllerMessage& message);

// A report part as the text of its body, for a file.
std::string to_text(const ReportPart& part);
// Errors: as read_agent_message()'s
[[nodiscard]] Result<ReportPart> read_report_part(std::string_view text);

// Unknown fields are ignored.
// Errors: kInvalidArgument  names the type, the field, and what is allowed
//         kLimit            too many jobs or pools
[[nodiscard]] Result<AgentMessage> read_agent_message(
    const std::string& type, const nlohmann::json& body);
[[nodiscard]] Result<ControllerMessage> read_controller_message(
    const std::string& type, const nlohmann::json& body);

}  // namespace penstock
