#include "select_ext/ctld/answers.h"

#include <set>

#include "select_ext/ctld/stall_totals.h"
#include "tests/unit/catch.h"
#include "tests/unit/wire/job_records.h"

namespace penstock {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;
using What = ControllerQuery::What;

JobView job_view(uint64_t id, uint32_t uid) {
  JobView job;
  job.job_id = id;
  job.uid = uid;
  job.name = "train";
  job.started_unix_s = 1780000000;
  job.nodes = {"n1", "n2"};
  job.ranks = 8;
  job.ceiling_samples_per_s = 100;
  job.floor_samples_per_s = 50;
  job.rate_samples_per_s = 80;
  job.entitled_cores = 16;
  job.loader_cores = 25.6;
  job.storage_bytes_per_s = 7e7;
  job.pool = "scratch";
  return job;
}

ClusterView cluster_view() {
  ClusterView view;
  view.controller = "ctl1:6830";
  view.version = "0.1.0";
  view.term = 16;
  view.is_active = true;
  view.policy = "throughput";
  view.time_unix_s = 1780000100;
  for (uint64_t id = 1; id <= 6; ++id) {
    view.jobs.push_back(job_view(id, id <= 3 ? 1000 : 1001));
  }
  view.jobs[5].nodes = {"n3"};
  view.nodes = {{"n1", 24, 20, 18.5, 0.4, false, 5, 20},
                {"n2", 24, 20, 18.5, 0.4, false, 5, 20},
                {"n3", 24, 20, 3, 45, true, 1, 8}};
  view.pools = {{"scratch", 2e9, 4.2e8, 6}};
  return view;
}

Result<std::vector<HistoryRow>> no_history(const HistoryQuery&) {
  return std::vector<HistoryRow>();
}

ControllerQuery about(What what) {
  ControllerQuery query;
  query.what = what;
  return query;
}

json answer(const ControllerQuery& query, uid_t asker,
            const ClusterView& view = cluster_view(),
            const FindHistory& find = no_history) {
  Result<json> document = build_answer(query, asker, view, find);
  if (!document) FAIL(document.error().message);
  return *document;
}

std::vector<uint64_t> ids(const json& document) {
  std::vector<uint64_t> out;
  for (const json& job : document["jobs"]) out.push_back(job["job_id"]);
  return out;
}

using Ids = std::vector<uint64_t>;

TEST_CASE("the document of jobs has the fields of docs/protocol.md") {
  ControllerQuery query = about(What::kJobs);
  query.job_id = 2;
  CHECK(answer(query, 0) ==
        json::parse(R"({"schema_version": 1, "kind": "cluster_jobs",
          "controller": "ctl1:6830", "version": "0.1.0", "term": 16, "active": true,
          "policy": "throughput", "time_unix_s": 1780000100.0, "next": null,
          "jobs": [{"job_id": 2, "uid": 1000, "name": "train",
            "started_unix_s": 1780000000.0, "nodes": ["n1", "n2"],
            "ranks": 8.0, "ceiling_samples_per_s": 100.0,
            "floor_samples_per_s": 50.0, "rate_samples_per_s": 80.0,
            "entitled_cores": 16.0, "loader_cores": 25.6,
            "storage_bytes_per_s": 7e7, "pool": "scratch",
            "on_entitlement": false, "silent": false}]})"));
}

TEST_CASE("unknown values are null") {
  ClusterView view = cluster_view();
  view.jobs.resize(1);
  JobView& job = view.jobs[0];
  job.name.clear();
  job.pool.clear();
  job.ceiling_samples_per_s.reset();
  job.floor_samples_per_s.reset();
  job.rate_samples_per_s.reset();
  job.loader_cores.reset();
  job.storage_bytes_per_s.reset();
  const json row = answer(about(What::kJobs), 0, view)["jobs"][0];
  for (const char* key :
       {"name", "pool", "ceiling_samples_per_s", "floor_samples_per_s",
        "rate_samples_per_s", "loader_cores", "storage_bytes_per_s"}) {
    CHECK(row[key].is_null());
  }
}

TEST_CASE("Slurm's operators see what root sees") {
  ClusterView view = cluster_view();
  view.operators = {1002};
  CHECK(ids(answer(about(What::kJobs), 1002, view)) == Ids{1, 2, 3, 4, 5, 6});
  ControllerQuery query = about(What::kHistory);
  query.uid = 1000;
  CHECK(build_answer(query, 1002, view, no_history));
  CHECK(build_answer(about(What::kTotals), 1002, view, no_history));
  CHECK_FALSE(build_answer(about(What::kTotals), 1001, view, no_history));
}

TEST_CASE("users see their own jobs, root sees all") {
  CHECK(ids(answer(about(What::kJobs), 0)) == Ids{1, 2, 3, 4, 5, 6});
  CHECK(ids(answer(about(What::kJobs), 1000)) == Ids{1, 2, 3});
  CHECK(ids(answer(about(What::kJobs), 1001)) == Ids{4, 5, 6});
  CHECK(ids(answer(about(What::kJobs), 1002)).empty());
  ControllerQuery query = about(What::kJobs);
  query.uid = 1000;
  CHECK(ids(answer(query, 0)) == Ids{1, 2, 3});
  CHECK(ids(answer(query, 1000)) == Ids{1, 2, 3});
  for (What what : {What::kJobs, What::kHistory}) {
    query.what = what;
    Result<json> foreign =
        build_answer(query, 1001, cluster_view(), no_history);
    REQUIRE_FALSE(foreign);
    CHECK(foreign.error().code == Code::kPermissionDenied);
    CHECK_THAT(foreign.error().message, ContainsSubstring("only root"));
  }
  // A job id does not bypass this.
  query = about(What::kJobs);
  query.job_id = 4;
  CHECK(ids(answer(query, 1000)).empty());
  CHECK(ids(answer(query, 1001)) == Ids{4});
}

TEST_CASE("a query by node returns only the jobs of that node") {
  ControllerQuery query = about(What::kJobs);
  query.node = "n3";
  CHECK(ids(answer(query, 0)) == Ids{6});
  query.node = "n9";
  CHECK(ids(answer(query, 0)).empty());
}

// All pages of a query, one after the other.
template <class Ask>
std::vector<json> pages(ControllerQuery query, Ask ask) {
  std::vector<json> all;
  while (true) {
    all.push_back(ask(query));
    REQUIRE(all.size() < 1000);
    if (all.back()["next"].is_null()) return all;
    query.after = all.back()["next"];
  }
}

TEST_CASE("pages hold every job once and fit into envelopes") {
  ClusterView view = cluster_view();
  view.jobs.clear();
  for (uint64_t id = 1; id <= 5000; ++id) {
    view.jobs.push_back(job_view(id * 3, 1000));
    // The largest row that a user can cause.
    view.jobs.back().name = std::string(256, '\x01');
    view.jobs.back().nodes.resize(20, "a-node-with-a-long-name");
  }
  Ids seen;
  size_t count = 0;
  for (const json& page : pages(about(What::kJobs), [&](const auto& query) {
         return answer(query, 1000, view);
       })) {
    for (uint64_t id : ids(page)) seen.push_back(id);
    Envelope envelope =
        Sender("ctl", 1).next(kAnswerType, answer_body(Envelope(), page), 100);
    CHECK(pack(envelope));
    ++count;
  }
  REQUIRE(seen.size() == 5000);
  for (size_t i = 0; i < seen.size(); ++i) REQUIRE(seen[i] == (i + 1) * 3);
  CHECK(count > 5);  // the bytes bound them, not only the rows
}

TEST_CASE("a limit bounds each page, and a full last page has no next") {
  ControllerQuery query = about(What::kJobs);
  query.limit = 4;
  json page = answer(query, 0);
  CHECK(ids(page) == Ids{1, 2, 3, 4});
  CHECK(page["next"] == "4");
  query.after = page["next"];
  query.limit = 2;
  page = answer(query, 0);
  CHECK(ids(page) == Ids{5, 6});
  CHECK(page["next"].is_null());
}

TEST_CASE("the document of nodes has the pools and is readable by all users") {
  CHECK(answer(about(What::kNodes), 1002) ==
        json::parse(R"({"schema_version": 1, "kind": "cluster_nodes",
          "controller": "ctl1:6830", "version": "0.1.0", "term": 16, "active": true,
          "policy": "throughput", "time_unix_s": 1780000100.0, "next": null,
          "nodes": [
           {"node": "n1", "cpus": 24.0, "loader_cores": 20.0,
            "planned_cores": 18.5, "heard_ago_s": 0.4, "silent": false,
            "jobs": 5, "ranks": 20.0},
           {"node": "n2", "cpus": 24.0, "loader_cores": 20.0,
            "planned_cores": 18.5, "heard_ago_s": 0.4, "silent": false,
            "jobs": 5, "ranks": 20.0},
           {"node": "n3", "cpus": 24.0, "loader_cores": 20.0,
            "planned_cores": 3.0, "heard_ago_s": 45.0, "silent": true,
            "jobs": 1, "ranks": 8.0}],
          "pools": [{"pool": "scratch", "bandwidth_bytes_per_s": 2e9,
            "planned_bytes_per_s": 4.2e8, "jobs": 6}]})"));
  ControllerQuery query = about(What::kNodes);
  query.limit = 1;
  std::vector<std::string> names;
  for (const json& page :
       pages(query, [](const auto& next) { return answer(next, 0); })) {
    names.push_back(page["nodes"][0]["node"]);
  }
  CHECK(names == std::vector<std::string>{"n1", "n2", "n3"});
  query.node = "n2";
  CHECK(answer(query, 0)["nodes"].size() == 1);
}

// A history of numbered rows, the newest first, as HistoryFile::find() gives.
FindHistory history_of(int64_t rows, uint32_t uid) {
  return [rows, uid](const HistoryQuery& query) {
    std::vector<HistoryRow> out;
    const int64_t top = std::min(rows, query.before_row.value_or(rows + 1) - 1);
    for (int64_t row = top; row > 0 && int(out.size()) < query.limit; --row) {
      HistoryRow& found = out.emplace_back();
      found.row = row;
      found.job = full_record(uint32_t(row));
      found.job.uid = uid;
    }
    return Result<std::vector<HistoryRow>>(out);
  };
}

TEST_CASE("the document of the history has the fields of docs/protocol.md") {
  const json document =
      answer(about(What::kHistory), 1000, cluster_view(), history_of(1, 1000));
  CHECK(document["kind"] == "job_history");
  CHECK(document["schema_version"] == 1);
  CHECK(document["next"].is_null());
  CHECK(document["jobs"] == json::parse(R"([{"cluster": "alpha", "job_id": 1,
    "restart_count": 2, "array_job_id": 4700, "array_task_id": 11,
    "het_job_id": 4701, "het_offset": 3, "uid": 1000, "user": "ada",
    "account": "physics", "name": "train",
    "kind": "train:)" + text_hash("/home/ada/train.sh #") +
                                        R"(",
    "nodes": 2, "ranks": 8, "gpus": 16, "model": "resnet50", "batch": 256,
    "state": "COMPLETED", "submit_unix_s": 1780000000.5,
    "start_unix_s": 1780000010.25, "end_unix_s": 1780003610.75,
    "last_seen_unix_s": 1780003611.0, "measured_s": 3500.0,
    "ceiling_samples_per_s": 812.5, "mean_rate_samples_per_s": 640.25,
    "loader_cpu_s_per_sample": 0.0041, "storage_bytes_per_sample": 110500.0,
    "trainer_reserve_cores": 0.5, "grant_changes": 12, "wall_s": 3600.0,
    "compute_s": 2000.5, "fetch_stall_s": 300.0, "prep_stall_s": 700.0,
    "exchange_stall_s": 100.0, "waited_s": 1000.0, "active_s": 3500.0,
    "home_core_s": 7200.0, "away_core_s": 3600.0, "lent_core_s": 60.0,
    "floor_samples_per_s": 500.0, "observed_s": 1800.0,
    "would_borrow_core_s": 900.0, "would_lend_core_s": 30.0,
    "would_save_s": 400.0, "would_save_low_s": 300.0,
    "would_save_high_s": 500.0, "guest_core_s": null,
    "allocated_core_s": null,
    "used_core_s": null, "gpu_s": null, "gpu_busy_s": null,
    "gpu_idle_s": null}])"));
}

TEST_CASE(
    "a query of the history returns only the jobs that the user may see") {
  HistoryQuery asked;
  const FindHistory find = [&](const HistoryQuery& query) {
    asked = query;
    return no_history(query);
  };
  ControllerQuery query = about(What::kHistory);
  query.job_id = 7;
  query.since_unix_s = 5;
  query.after = "42";
  query.limit = 10;
  (void)answer(query, 1000, cluster_view(), find);
  CHECK(asked.uid == 1000u);
  CHECK(asked.job_id == 7u);
  CHECK(asked.since_unix_s == 5);
  CHECK(asked.before_row == 42);
  CHECK(asked.limit == 11);
  (void)answer(query, 0, cluster_view(), find);
  CHECK_FALSE(asked.uid);
  // Rows of other users are dropped.
  CHECK(ids(answer(about(What::kHistory), 1000, cluster_view(),
                   history_of(5, 1001)))
            .empty());
}

TEST_CASE("pages of the history hold every row once") {
  ControllerQuery query = about(What::kHistory);
  query.limit = 7;
  Ids seen;
  for (const json& page : pages(query, [](const auto& next) {
         return answer(next, 1000, cluster_view(), history_of(21, 1000));
       })) {
    for (uint64_t id : ids(page)) seen.push_back(id);
  }
  REQUIRE(seen.size() == 21);
  CHECK(std::set<uint64_t>(seen.begin(), seen.end()).size() == 21);
  CHECK(seen.front() == 21);
}

TEST_CASE("totals are sums of the history, without names, and for root only") {
  const ControllerQuery query = about(What::kTotals);
  const json document = answer(query, 0, cluster_view(), history_of(3, 1000));
  CHECK(document["kind"] == "history_totals");
  CHECK(document["next"].is_null());
  StallTotals expected;
  for (int i = 0; i < 3; ++i) expected.add(full_record());
  CHECK(read_stall_totals(document["totals"]) == expected);
  // No user's name or id, and no job.
  const std::string text = document.dump();
  for (const char* word : {"ada", "physics", "train", "1000", "4701"}) {
    CAPTURE(word, text);
    CHECK(text.find(word) == std::string::npos);
  }
  bool was_searched = false;
  const Result<json> denied = build_answer(query, 1000, cluster_view(),
                                           [&](const HistoryQuery& wanted) {
                                             was_searched = true;
                                             return no_history(wanted);
                                           });
  REQUIRE_FALSE(denied);
  CHECK(denied.error().code == Code::kPermissionDenied);
  CHECK_THAT(denied.error().message,
             ContainsSubstring("only root and Slurm's operators see the "
                               "cluster's totals"));
  CHECK_FALSE(was_searched);
}

TEST_CASE("pages of totals hold every row once") {
  ControllerQuery query = about(What::kTotals);
  query.limit = 7;
  query.since_unix_s = 5;
  StallTotals sum;
  size_t count = 0;
  for (const json& page : pages(query, [](const auto& next) {
         return answer(next, 0, cluster_view(), history_of(21, 1000));
       })) {
    sum.add(read_stall_totals(page["totals"]));
    ++count;
  }
  CHECK(sum.runs == 21);
  CHECK(count == 3);
}

TEST_CASE("a damaged history is reported as unavailable with its remedy") {
  for (What what : {What::kHistory, What::kTotals}) {
    Result<json> failed =
        build_answer(about(what), 0, cluster_view(), [](const HistoryQuery&) {
          return Result<std::vector<HistoryRow>>(
              Error{Code::kInvalidArgument, 0, "h.db: malformed"});
        });
    REQUIRE_FALSE(failed);
    CHECK(failed.error().code == Code::kUnavailable);
    CHECK_THAT(failed.error().message,
               ContainsSubstring("h.db: malformed") &&
                   ContainsSubstring("repeat the command") &&
                   ContainsSubstring("journalctl -u penstockctld"));
  }
}

TEST_CASE("a failed search of the history is reported as unavailable") {
  Result<json> failed = build_answer(
      about(What::kHistory), 0, cluster_view(), [](const HistoryQuery&) {
        return Result<std::vector<HistoryRow>>(
            Error{Code::kUnavailable, 0, "the search takes too long"});
      });
  REQUIRE_FALSE(failed);
  CHECK(failed.error().code == Code::kUnavailable);
}

TEST_CASE("an inactive controller answers queries of the history only") {
  ClusterView view = cluster_view();
  view.is_active = false;
  for (What what : {What::kJobs, What::kNodes}) {
    Result<json> document = build_answer(about(what), 0, view, no_history);
    REQUIRE_FALSE(document);
    CHECK(document.error().code == Code::kUnavailable);
    CHECK_THAT(document.error().message, ContainsSubstring("not the active"));
  }
  CHECK(answer(about(What::kHistory), 0, view)["active"] == false);
}

TEST_CASE("invalid cursors are refused") {
  for (What what : {What::kJobs, What::kHistory, What::kTotals}) {
    for (const char* after : {"x", "-1", "1x", "99999999999999999999"}) {
      ControllerQuery query = about(what);
      query.after = after;
      Result<json> document =
          build_answer(query, 0, cluster_view(), no_history);
      REQUIRE_FALSE(document);
      CHECK(document.error().code == Code::kInvalidArgument);
      CHECK_THAT(document.error().message, ContainsSubstring("after"));
    }
  }
}

// Reports of job 7 by as many nodes, of user 1000.
FindReports reports_of(int64_t nodes, size_t bytes) {
  return [=](const ReportQuery& query) -> Result<std::vector<ReportRow>> {
    std::vector<ReportRow> rows;
    for (int64_t row = query.after_row + 1; row <= nodes; ++row) {
      if (query.job_id != 7 || query.uid.value_or(1000) != 1000) break;
      if (rows.size() == size_t(query.limit)) break;
      rows.push_back({row,
                      {7, "n" + std::to_string(row), 5.5, 6.5, 1000, 9,
                       std::string(bytes, '\x0f')}});
    }
    return rows;
  };
}

TEST_CASE("a job's reports are read page by page") {
  ControllerQuery query = about(What::kReports);
  query.job_id = 7;
  for (const auto& [nodes, bytes] :
       {std::pair<int64_t, size_t>{3, 2}, {200, 10}, {5, 180'000}}) {
    std::vector<std::string> seen;
    query.after = "";
    while (true) {
      const auto page = build_answer(query, 1000, cluster_view(), no_history,
                                     reports_of(nodes, bytes));
      REQUIRE(page);
      CHECK((*page)["kind"] == "job_reports");
      CHECK(page->dump().size() < kMaxEnvelopeBytes);
      for (const json& row : (*page)["reports"]) {
        seen.push_back(row["node"]);
        CHECK(row["packed"].get<std::string>().size() == 2 * bytes);
        CHECK(row["started_unix_s"] == 5.5);
      }
      if ((*page)["next"].is_null()) break;
      query.after = (*page)["next"];
    }
    CHECK(seen.size() == size_t(nodes));
    CHECK(std::set(seen.begin(), seen.end()).size() == seen.size());
  }
}

TEST_CASE("a job's reports come with its number as squeue prints it") {
  ControllerQuery query = about(What::kReports);
  query.job_id = 7;
  const auto history = [](const HistoryQuery& wanted) {
    CHECK(wanted.is_own);
    HistoryRow newest, earlier;
    newest.job = earlier.job = full_record(*wanted.job_id);
    newest.job.restart_count = 3;
    newest.job.start_unix_s = 5000;  // after the parts, which are of 5.5
    earlier.job.start_unix_s = 5;
    return Result<std::vector<HistoryRow>>(std::vector{newest, earlier});
  };
  const auto page =
      build_answer(query, 1000, cluster_view(), history, reports_of(1, 2));
  REQUIRE(page);
  CHECK((*page)["label"] == "4700_11 r2");
  CHECK((*page)["restarts"] == 3);
}

TEST_CASE("a job of nodes whose clocks are behind has its only run's number") {
  ControllerQuery query = about(What::kReports);
  query.job_id = 7;
  const uint32_t row_restarts = full_record(7).restart_count;
  for (const size_t runs : {1, 2}) {
    const auto history = [&](const HistoryQuery& wanted) {
      HistoryRow row;
      row.job = full_record(*wanted.job_id);
      row.job.start_unix_s = 605;  // after the parts, which are of 5.5
      return Result<std::vector<HistoryRow>>(std::vector(runs, row));
    };
    const auto page =
        build_answer(query, 1000, cluster_view(), history, reports_of(1, 2));
    REQUIRE(page);
    CHECK((*page)["label"].is_null() == (runs == 2));
    CHECK((*page)["restarts"] == row_restarts);
  }
}

TEST_CASE("reports of another user's job are denied, and root sees them") {
  ControllerQuery query = about(What::kReports);
  query.job_id = 7;
  const auto ask = [&](uid_t asker) {
    return build_answer(query, asker, cluster_view(), no_history,
                        reports_of(2, 2));
  };
  CHECK((*ask(0))["reports"].size() == 2);
  CHECK((*ask(0))["label"].is_null());
  CHECK((*ask(0))["restarts"].is_null());
  CHECK(ask(1001).error().code == Code::kPermissionDenied);
  CHECK(ask(1001).error().message == "job 7 is not of user 1001");
  query.job_id = 8;  // nobody's
  CHECK((*ask(1001))["reports"].empty());
  query.job_id.reset();
  CHECK(ask(0).error().code == Code::kInvalidArgument);
}

}  // namespace
}  // namespace penstock
