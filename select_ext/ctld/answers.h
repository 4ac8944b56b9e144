// A controller's answers: JSON documents, as `penstock jobs`, `nodes` and
// `history` print them (docs/protocol.md, "Questions to a controller"). Pure:
// the caller passes the state and the history's rows.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/result.h"
#include "select_ext/ctld/history_file.h"
#include "wire/query.h"

namespace penstock {

inline constexpr int kClusterSchemaVersion = 1;

// A running managed job. Rates are samples/s per rank, other figures are totals
// of its ranks. nullopt: unknown, or not planned.
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
  std::optional<double> loader_cores;         // needed by the rate
  std::optional<double> storage_bytes_per_s;  // needed by the rate
  std::string pool;                           // "": none
  bool on_entitlement = false;  // on a node: no more than the entitlement
  bool is_silent = false;       // one of its nodes is silent: kept at the floor
};

struct NodeView {
  std::string name;
  double cpus = 0;
  double loader_cores = 0;   // available to managed jobs' loaders
  double planned_cores = 0;  // needed by the granted rates
  double heard_ago_s = 0;
  bool is_silent = false;
  uint32_t jobs = 0;
  double ranks = 0;
};

struct PoolView {
  std::string name;
  double bandwidth_bytes_per_s = 0;
  double planned_bytes_per_s = 0;  // needed by the granted rates
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
  std::set<uint32_t> operators;  // users whom Slurm shows all jobs
};

using FindHistory =
    std::function<Result<std::vector<HistoryRow>>(const HistoryQuery&)>;
using FindReports =
    std::function<Result<std::vector<ReportRow>>(const ReportQuery&)>;

// Builds the document that `asker`, the uid of the query's credential, may see.
// Users see their own jobs and all nodes; root and the operators see
// everything, totals included. The document holds as many rows as the query
// allows and an envelope takes. If there are more, its "next" is the next
// query's `after`. Errors: kPermissionDenied  a user asks for another user's
// jobs, or for totals
//         kUnavailable       this controller is not active (jobs and nodes
//                            only, as each controller has its own history);
//                            or the history is damaged
//         kInvalidArgument   `after` is not an answer's "next"
//         find_history's
[[nodiscard]] Result<nlohmann::json> build_answer(
    const ControllerQuery& query, uid_t asker, const ClusterView& view,
    const FindHistory& find_history, const FindReports& find_reports = {});

}  // namespace penstock
