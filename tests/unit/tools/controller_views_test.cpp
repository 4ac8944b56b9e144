// The cluster's views against golden files.
#include "tools/penstock/controller_views.h"

#include "golden.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

using nlohmann::json;

std::string golden_file(const std::string& name, const std::string& now) {
  return golden(std::string(PENSTOCK_FIXTURES) + "/" + name, now);
}

std::string user_name(uint32_t uid) {
  return uid == 1000 ? "ada" : "a-user-with-a-long-name";
}

json header(const char* kind) {
  return {{"schema_version", 1},
          {"kind", kind},
          {"controller", "ctl1:6830"},
          {"term", 16},
          {"active", true},
          {"policy", "throughput"},
          {"time_unix_s", 1780000100},
          {"next", nullptr}};
}

json jobs() {
  json document = header("cluster_jobs");
  document["jobs"] = json::parse(R"([
    {"job_id": 4711, "uid": 1000, "name": "train", "nodes": ["n1", "n2"],
     "ranks": 8.0, "ceiling_samples_per_s": 812.5, "floor_samples_per_s": 400,
     "rate_samples_per_s": 640.25, "loader_cores": 25.6,
     "storage_bytes_per_s": 7e7, "pool": "scratch", "on_entitlement": false,
     "silent": false},
    {"job_id": 4294967295, "uid": 1001, "name": "\u001b[2Jevil\nname of a job",
     "nodes": ["n3"], "ranks": 4096, "ceiling_samples_per_s": 1e18,
     "floor_samples_per_s": 1e17, "rate_samples_per_s": 9.9e17,
     "loader_cores": 99999.9, "storage_bytes_per_s": 1e18, "pool": "scratch",
     "on_entitlement": true, "silent": true},
    {"job_id": 4713, "uid": 1000, "name": null, "nodes": ["n1"], "ranks": 1,
     "ceiling_samples_per_s": null, "floor_samples_per_s": null,
     "rate_samples_per_s": null, "loader_cores": null,
     "storage_bytes_per_s": null, "pool": null, "on_entitlement": false,
     "silent": false}])");
  return document;
}

json nodes() {
  json document = header("cluster_nodes");
  document["nodes"] = json::parse(R"([
    {"node": "n1", "cpus": 24.0, "loader_cores": 20.0, "planned_cores": 18.5,
     "heard_ago_s": 0.4, "silent": false, "jobs": 5, "ranks": 20.0},
    {"node": "a-node-with-a-name-that-is-too-long", "cpus": 4096,
     "loader_cores": 4090.5, "planned_cores": 4090.5, "heard_ago_s": 400000,
     "silent": true, "jobs": 99999, "ranks": 99999}])");
  document["pools"] = json::parse(R"([
    {"pool": "scratch", "bandwidth_bytes_per_s": 2147483648,
     "planned_bytes_per_s": 4.2e8, "jobs": 6}])");
  return document;
}

json history() {
  json document = header("job_history");
  document["jobs"] = json::parse(R"([
    {"job_id": 4715, "restart_count": 0, "uid": 1000, "name": "now",
     "state": "RUNNING", "start_unix_s": 1780000000, "end_unix_s": null,
     "last_seen_unix_s": 1780000090.5, "mean_rate_samples_per_s": 640.25,
     "ceiling_samples_per_s": 812.5, "loader_cpu_s_per_sample": 0.0041},
    {"job_id": 4714, "restart_count": 2, "array_job_id": 4700,
     "array_task_id": 11, "uid": 1001, "name": "sweep of everything",
     "state": "OUT_OF_MEMORY", "start_unix_s": 1780000000,
     "end_unix_s": 1780100000, "last_seen_unix_s": 1780100000,
     "mean_rate_samples_per_s": null, "ceiling_samples_per_s": null,
     "loader_cpu_s_per_sample": null},
    {"job_id": 4713, "restart_count": 0, "het_job_id": 4712, "het_offset": 1,
     "array_task_id": null, "uid": 1000, "name": "het",
     "state": "COMPLETED", "start_unix_s": null, "end_unix_s": null,
     "last_seen_unix_s": 0}])");
  return document;
}

TEST_CASE("the cluster's views equal the golden files") {
  const std::string jobs_text = render_jobs(jobs(), user_name);
  CHECK(jobs_text == golden_file("jobs.txt", jobs_text));
  check_page(jobs_text);
  const std::string nodes_text = render_nodes(nodes());
  CHECK(nodes_text == golden_file("nodes.txt", nodes_text));
  check_page(nodes_text);
  const std::string history_text = render_history(history(), user_name);
  CHECK(history_text == golden_file("history.txt", history_text));
  check_page(history_text);
}

TEST_CASE("the cluster's views fit every width") {
  for (int width : {60, 80, 132, 200}) {
    check_page(render_jobs(jobs(), user_name, {.width = width}), size_t(width));
    check_page(render_nodes(nodes(), {.width = width}), size_t(width));
    check_page(render_history(history(), user_name, {.width = width}),
               size_t(width));
  }
}

TEST_CASE("each view reports that it is empty") {
  json document = header("cluster_jobs");
  document["jobs"] = document["nodes"] = document["pools"] = json::array();
  CHECK(render_jobs(document, user_name)
            .find("no managed job of yours is "
                  "running") != std::string::npos);
  CHECK(render_nodes(document).find("no node has connected") !=
        std::string::npos);
  CHECK(render_history(document, user_name).find("is remembered") !=
        std::string::npos);
}

TEST_CASE("malformed documents are shown without failure") {
  for (const char* text :
       {"null", "[]", "{}", R"({"jobs": 1, "nodes": "x", "pools": null})",
        R"({"jobs": [1, null, [], {}], "nodes": [1, {}], "pools": [{}]})",
        R"({"jobs": {"a": 1}, "term": "x", "time_unix_s": -5})",
        R"({"jobs": [{"job_id": -1, "uid": "x", "nodes": 3, "name": 5,
            "ranks": "many", "array_task_id": 1, "restart_count": "x"}]})"}) {
    const json document = json::parse(text);
    check_page(render_jobs(document, user_name));
    check_page(render_nodes(document));
    check_page(render_history(document, user_name));
  }
}

}  // namespace
}  // namespace penstock
