#include "tools/policy/table.h"

#include "tests/unit/catch.h"
#include "tests/unit/policy/runs.h"

using namespace penstock;
using namespace penstock::policy;

namespace {

PolicyTable table_of(const std::vector<JobRecord>& jobs) {
  return {by_user(all_of(jobs)), jobs.size(), 1780000000, {}};
}

PolicyTable example() {
  return table_of({run_of(1), idle(run_of(2)), idle(run_of(3)),
                   wide(starved(run_of(4, 1001, "1001")))});
}

}  // namespace

TEST_CASE("the table has a line for each user and kind") {
  TextStyle style;
  style.width = 80;
  CHECK(render_table(example(), style) ==
        "4 runs seen since 2026-05-28 20:26:40 UTC, each counted whole\n"
        "\n"
        "GPUs on which no kernel ran for 2 h 00 min or more\n"
        "  user              runs      GPU h         of  worst run\n"
        "  ada                  2       30.0       40.0  2 train\n"
        "\n"
        "Waiting for data, over 30% of 2 h 00 min or more\n"
        "  user              runs      GPU h         of  worst run\n"
        "  1001                 1       8.00       20.0  4 train\n"
        "\n"
        "Cores: under 25% of 4 or more used for 6 h 00 min or more\n"
        "  user              runs     core h         of  worst run\n"
        "  1001                 1       72.0       80.0  4 train\n");
}

TEST_CASE("a table of nothing says so") {
  CHECK(render_table(table_of({run_of(1)}), {}) ==
        "1 run seen since 2026-05-28 20:26:40 UTC, each counted whole\n"
        "  nothing to tell of them\n");
}

TEST_CASE("names cannot control the terminal, nor widen the table") {
  JobRecord job = idle(run_of(1, 1000, std::string(40, 'u') + "\x1b[2J"));
  job.name = "\x1b[31m" + std::string(300, 'n');
  TextStyle style;
  style.width = 60;
  const std::string text = render_table(table_of({job}), style);
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = text.find('\n', begin);
    CHECK(end - begin <= 60);
    begin = end + 1;
  }
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("JSON and CSV have a record for each finding, and JSON the rules") {
  const auto document = table_json(example());
  CHECK(document["kind"] == "policy");
  CHECK(document["schema_version"] == 1);
  CHECK(document["runs"] == 4);
  CHECK(document["rules"]["idle_gpu_h"] == 2.0);
  REQUIRE(document["findings"].size() == 4);
  CHECK(document["findings"][0] ==
        nlohmann::json::parse(R"({"kind": "idle_gpus", "uid": 1000,
          "user": "ada", "account": "", "job_id": 2, "job": "2",
          "name": "train", "state": "COMPLETED", "wasted_h": 15.0,
          "held_h": 20.0})"));
  CHECK(document["findings"][3]["kind"] == "unused_cores");
  const std::string csv = table_csv(example());
  CHECK(csv.starts_with(
      "kind,uid,user,account,job_id,job,name,state,wasted_h,held_h\r\n"
      "idle_gpus,1000,ada,,2,2,train,COMPLETED,15,20\r\n"));
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 5);
}
