// What a controller answers: documents in JSON, as `penstock jobs`, `nodes` and
// `history` print them (docs/protocol.md, "Questions to a controller"). Pure:
// the state and the history's rows are given.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "select_ext/ctld/history_file.h"
#include "select_ext/ctld/query.h"

namespace penstock {

inline constexpr int kClusterSchemaVersion = 1;

// A running managed job. Rates are samples/s per rank, the rest is of all its
// ranks together; nullopt: not known, or not planned.
struct JobView {
  uint64_t job_id = 0;
  uint32_t uid = 0;
  std::string name;
  double started_unix_s = 0;
  std::vector<std::string> nodes;
  double ranks = 0;
  std::optional<double> ceiling_samples_per_s;
  std::optional<double> floor_samples_per_s;
  std::optional<double> rate_samples_per_s;  // granted
  double entitled_cores = 0;
  std::optional<double> loader_cores;         // that the rate needs
  std::optional<double> storage_bytes_per_s;  // that the rate needs
  std::string pool;                           // "": none
  bool on_entitlement = false;                // its pages contradict the kernel
  bool is_silent = false;  // one of its nodes is: kept at the floor
};

struct NodeView {
  std::string name;
  double cpus = 0;
  double loader_cores = 0;   // that managed jobs may use
  double planned_cores = 0;  // that the granted rates need
  double heard_ago_s = 0;
  bool is_silent = false;
  uint32_t jobs = 0;
  double ranks = 0;
};

struct PoolView {
  std::string name;
  double bandwidth_bytes_per_s = 0;
  double planned_bytes_per_s = 0;  // that the granted rates need
  uint32_t jobs = 0;
};

struct ClusterView {
  std::string controller;  // "host:port"
  std::string version;     // of penstockctld
  uint64_t term = 0;
  bool is_active = false;
  std::string policy;
  double time_unix_s = 0;
  std::vector<JobView> jobs;    // by rising job_id
  std::vector<NodeView> nodes;  // by rising name
  std::vector<PoolView> pools;
};

using FindHistory =
    std::function<Result<std::vector<HistoryRow>>(const HistoryQuery&)>;

// The document that the asker (the uid of the query's credential) may see:
// users see their own jobs and all nodes, root sees all and the totals. It
// holds as many rows as the query allows and an envelope takes; where there are
// more, its "next" is what the next query's `after` must be. Errors:
// kPermissionDenied  a user asks for another's jobs, or for totals
//         kUnavailable       this controller is not the active one (jobs and
//                            nodes only: the history is each controller's
//                            own); or the history is damaged
//         kInvalidArgument   `after` is not what an answer gave
//         find_history's
[[nodiscard]] Result<nlohmann::json> build_answer(
    const ControllerQuery& query, uid_t asker, const ClusterView& view,
    const FindHistory& find_history);

}  // namespace penstock
