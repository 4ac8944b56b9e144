#include "select_ext/ctld/answers.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/clock.h"
#include "common/hex.h"
#include "common/units.h"
#include "select_ext/ctld/stall_totals.h"
#include "wire/history_row.h"

namespace penstock {
namespace {

using nlohmann::json;

bool sees_all(uid_t asker, const ClusterView& view) {
  constexpr uid_t kRoot = 0;
  return asker == kRoot || view.operators.contains(asker);
}

// Limit of the rows; the rest of the envelope holds the other fields.
constexpr size_t kMaxRowBytes = kMaxEnvelopeBytes * 3 / 4;
// Reports that are read for a page.
constexpr int kMostReports = 16;

template <class T>
json value_of(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

json value_of(const std::string& text) {
  return text.empty() ? json() : json(text);
}

json row_of(const JobView& job) {
  return {{"job_id", job.job_id},
          {"uid", job.uid},
          {"name", value_of(job.name)},
          {"started_unix_s", job.started_unix_s},
          {"nodes", job.nodes},
          {"ranks", job.ranks},
          {"ceiling_samples_per_s", value_of(job.ceiling_samples_per_s)},
          {"floor_samples_per_s", value_of(job.floor_samples_per_s)},
          {"rate_samples_per_s", value_of(job.rate_samples_per_s)},
          {"entitled_cores", job.entitled_cores},
          {"loader_cores", value_of(job.loader_cores)},
          {"storage_bytes_per_s", value_of(job.storage_bytes_per_s)},
          {"pool", value_of(job.pool)},
          {"on_entitlement", job.on_entitlement},
          {"silent", job.is_silent}};
}

json row_of(const NodeView& node) {
  return {{"node", node.name},
          {"cpus", node.cpus},
          {"loader_cores", node.loader_cores},
          {"planned_cores", node.planned_cores},
          {"heard_ago_s", node.heard_ago_s},
          {"silent", node.is_silent},
          {"jobs", node.jobs},
          {"ranks", node.ranks}};
}

json pool_of(const PoolView& pool) {
  return {{"pool", pool.name},
          {"bandwidth_bytes_per_s", pool.bandwidth_bytes_per_s},
          {"planned_bytes_per_s", pool.planned_bytes_per_s},
          {"jobs", pool.jobs}};
}

// Collects rows until the page is full. "next" is then the last row's cursor.
class Page {
 public:
  explicit Page(int limit) : limit_(size_t(limit)) {}

  // False: the page is full and ends here.
  bool add(json row, const std::string& cursor) {
    const size_t bytes =
        row.dump(-1, ' ', false, json::error_handler_t::replace).size();
    if (rows_.size() == limit_ ||
        (bytes_ + bytes > kMaxRowBytes && !rows_.empty())) {
      is_full_ = true;
      return false;
    }
    bytes_ += bytes;
    last_ = cursor;
    rows_.push_back(std::move(row));
    return true;
  }

  void put_into(json& document, const char* key) {
    document[key] = std::move(rows_);
    document["next"] = is_full_ ? json(last_) : json();
  }

 private:
  size_t limit_;
  size_t bytes_ = 0;
  bool is_full_ = false;
  std::string last_;
  json rows_ = json::array();
};

json header(const char* kind, const ClusterView& view) {
  return {{"schema_version", kClusterSchemaVersion},
          {"kind", kind},
          {"controller", view.controller},
          {"version", view.version},
          {"term", view.term},
          {"active", view.is_active},
          {"policy", view.policy},
          {"time_unix_s", view.time_unix_s}};
}

Error bad_cursor() {
  return invalid("query: after: allowed: an earlier answer's \"next\"");
}

Result<json> jobs_document(const ControllerQuery& query,
                           const std::optional<uint32_t>& uid,
                           const ClusterView& view) {
  uint64_t after = 0;
  if (!query.after.empty()) {
    Result<uint64_t> cursor = parse_uint(query.after, 0, UINT64_MAX);
    if (!cursor) return bad_cursor();
    after = *cursor;
  }
  Page page(query.limit);
  for (const JobView& job : view.jobs) {
    if (uid && job.uid != *uid) continue;
    if (query.job_id && job.job_id != *query.job_id) continue;
    if (!query.node.empty() && std::find(job.nodes.begin(), job.nodes.end(),
                                         query.node) == job.nodes.end()) {
      continue;
    }
    if (!query.after.empty() && job.job_id <= after) continue;
    if (!page.add(row_of(job), std::to_string(job.job_id))) break;
  }
  json document = header("cluster_jobs", view);
  page.put_into(document, "jobs");
  return document;
}

json nodes_document(const ControllerQuery& query, const ClusterView& view) {
  Page page(query.limit);
  for (const NodeView& node : view.nodes) {
    if (!query.node.empty() && node.name != query.node) continue;
    if (!query.after.empty() && node.name <= query.after) continue;
    if (!page.add(row_of(node), node.name)) break;
  }
  json document = header("cluster_nodes", view);
  page.put_into(document, "nodes");
  document["pools"] = json::array();
  for (const PoolView& pool : view.pools) {
    document["pools"].push_back(pool_of(pool));
  }
  return document;
}

Result<HistoryQuery> history_query(const ControllerQuery& query,
                                   const std::optional<uint32_t>& uid) {
  HistoryQuery wanted;
  wanted.uid = uid;
  wanted.job_id = query.job_id;
  wanted.kind = query.kind;
  wanted.since_unix_s = query.since_unix_s;
  wanted.limit = query.limit + 1;  // one more row: is there a next page?
  if (!query.after.empty()) {
    Result<uint64_t> cursor = parse_uint(query.after, 1, INT64_MAX);
    if (!cursor) return bad_cursor();
    wanted.before_row = int64_t(*cursor);
  }
  return wanted;
}

// Damage to the history is not the client's fault, so the code is changed.
template <class Rows, class Query>
Rows find_rows(const Query& wanted,
               const std::function<Rows(const Query&)>& find) {
  Rows rows = find(wanted);
  if (rows || rows.error().code != Code::kInvalidArgument) return rows;
  return Error{
      Code::kUnavailable, 0,
      "the controller's history cannot be read: " + rows.error().message +
          "; penstockctld moves it away and creates a new one: repeat the "
          "command in a second; penstockctld's log has the way to recover the "
          "old one: journalctl -u penstockctld"};
}

Result<json> history_document(const ControllerQuery& query,
                              const std::optional<uint32_t>& uid,
                              const ClusterView& view,
                              const FindHistory& find_history) {
  Result<HistoryQuery> wanted = history_query(query, uid);
  if (!wanted) return std::move(wanted).error();
  Result<std::vector<HistoryRow>> rows = find_rows(*wanted, find_history);
  if (!rows) return std::move(rows).error();
  Page page(query.limit);
  for (const HistoryRow& row : *rows) {
    // The query already filters by user; a bug there must not leak other rows.
    if (uid && row.job.uid != *uid) continue;
    if (!page.add(history_row(row.job), std::to_string(row.row))) break;
  }
  json document = header("job_history", view);
  page.put_into(document, "jobs");
  return document;
}

// The latest start of these parts of a job.
double started_unix_s(const std::vector<ReportRow>& parts) {
  double latest = 0;
  for (const ReportRow& part : parts) {
    latest = std::max(latest, part.report.started_unix_s);
  }
  return latest;
}

// Adds the job as squeue prints it, with the restarts of the run that had begun
// when these parts did, and the restarts of its newest run. null: the history
// lacks it.
void add_label(const std::vector<ReportRow>& parts,
               const std::optional<uint32_t>& uid,
               const FindHistory& find_history, json& document) {
  constexpr int kRuns = 64;
  document["label"] = document["restarts"] = nullptr;
  if (parts.empty()) return;
  const uint32_t job_id = parts.front().report.job_id;
  const HistoryQuery wanted{
      .uid = uid, .job_id = job_id, .is_own = true, .limit = kRuns};
  const auto rows = find_history(wanted);
  if (!rows) return;
  const double latest = started_unix_s(parts) + kClockSkew_s;
  std::vector<const JobRecord*> runs, begun;  // the newest first
  for (const HistoryRow& row : *rows) {
    if (row.job.job_id != job_id) continue;
    runs.push_back(&row.job);
    const auto& start = row.job.start_unix_s;
    if (start && *start <= latest) begun.push_back(&row.job);
  }
  if (runs.empty()) return;
  document["restarts"] = runs.front()->restart_count;
  // If an only run has not begun, its nodes' clocks are behind.
  if (begun.empty() && runs.size() == 1) begun = runs;
  if (!begun.empty()) document["label"] = job_label(*begun.front());
}

// A page holds as many reports as fit; one always does.
Result<json> reports_document(const ControllerQuery& query,
                              const std::optional<uint32_t>& uid,
                              const ClusterView& view,
                              const FindHistory& find_history,
                              const FindReports& find_reports) {
  if (!query.job_id) return invalid("query: job_id: reports are of one job");
  ReportQuery wanted{.job_id = *query.job_id, .uid = uid};
  wanted.limit = std::min(query.limit, kMostReports) + 1;
  if (!query.after.empty()) {
    const Result<uint64_t> cursor = parse_uint(query.after, 1, INT64_MAX);
    if (!cursor) return bad_cursor();
    wanted.after_row = int64_t(*cursor);
  }
  auto rows = find_rows(wanted, find_reports);
  if (!rows) return std::move(rows).error();
  if (rows->empty() && uid) {
    const ReportQuery of_anybody{.job_id = wanted.job_id, .limit = 1};
    const auto others = find_rows(of_anybody, find_reports);
    if (others && !others->empty()) {
      return Error{
          Code::kPermissionDenied, 0,
          fmt::format("job {} is not of user {}", wanted.job_id, *uid)};
    }
  }
  Page page(wanted.limit - 1);
  for (const ReportRow& row : *rows) {
    const KeptReport& report = row.report;
    // The query already filters by user; a bug there must not leak other rows.
    if (uid && report.uid != *uid) continue;
    if (!page.add({{"node", report.node},
                   {"uid", report.uid},
                   {"started_unix_s", report.started_unix_s},
                   {"kept_unix_s", report.kept_unix_s},
                   {"packed", to_hex(report.packed)}},
                  std::to_string(row.row))) {
      break;
    }
  }
  json document = header("job_reports", view);
  add_label(*rows, uid, find_history, document);
  page.put_into(document, "reports");
  return document;
}

// Only sums; no row leaves the controller.
Result<json> totals_document(const ControllerQuery& query,
                             const ClusterView& view,
                             const FindHistory& find_history) {
  Result<HistoryQuery> wanted = history_query(query, query.uid);
  if (!wanted) return std::move(wanted).error();
  Result<std::vector<HistoryRow>> rows = find_rows(*wanted, find_history);
  if (!rows) return std::move(rows).error();
  const bool is_full = rows->size() > size_t(query.limit);
  if (is_full) rows->pop_back();
  StallTotals totals;
  for (const HistoryRow& row : *rows) totals.add(row.job);
  json document = header("history_totals", view);
  document["totals"] = to_json(totals);
  document["next"] = is_full ? json(std::to_string(rows->back().row)) : json();
  return document;
}

}  // namespace

Result<json> build_answer(const ControllerQuery& query, uid_t asker,
                          const ClusterView& view,
                          const FindHistory& find_history,
                          const FindReports& find_reports) {
  if (query.what == ControllerQuery::What::kTotals) {
    if (sees_all(asker, view)) {
      return totals_document(query, view, find_history);
    }
    return Error{
        Code::kPermissionDenied, 0,
        fmt::format("only root and Slurm's operators see the cluster's "
                    "totals; you are user {}",
                    asker)};
  }
  std::optional<uint32_t> uid = query.uid;
  if (!sees_all(asker, view)) {
    if (uid && *uid != asker) {
      return Error{Code::kPermissionDenied, 0,
                   fmt::format("only root and Slurm's operators see other "
                               "users' jobs; you are user {}, not {}",
                               asker, *uid)};
    }
    uid = asker;
  }
  if (query.what == ControllerQuery::What::kHistory) {
    return history_document(query, uid, view, find_history);
  }
  if (query.what == ControllerQuery::What::kReports) {
    return reports_document(query, uid, view, find_history, find_reports);
  }
  if (!view.is_active) {
    return Error{Code::kUnavailable, 0,
                 view.controller + " is not the active controller"};
  }
  if (query.what == ControllerQuery::What::kNodes) {
    return nodes_document(query, view);
  }
  return jobs_document(query, uid, view);
}

}  // namespace penstock
