// The table of many jobs, against golden files.
#include "tools/penstock/job_table.h"

#include "golden.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

using nlohmann::json;

std::string golden_file(const std::string& name, const std::string& now) {
  return golden(std::string(PENSTOCK_FIXTURES) + "/" + name, now);
}

JobRecord job(uint32_t id, double hours, uint32_t gpus) {
  JobRecord record;
  record.job_id = id;
  record.uid = 1000;
  record.user = "ada";
  record.name = "train";
  record.state = "COMPLETED";
  record.ranks = record.gpus = gpus;
  record.start_unix_s = 1780000000;
  record.end_unix_s = 1780000000 + hours * 3600;
  record.mean_rate_samples_per_s = 640.25;
  record.run = {.wall_s = hours * 3600,
                .parts_s = {.compute = hours * 1800,
                            .fetch_stall = hours * 360,
                            .prep_stall = 0},
                .waited_s = hours * 360,
                .active_s = hours * 3500,
                .home_core_s = hours * 7200,
                .away_core_s = hours * 1800,
                .lent_core_s = 0,
                .floor_samples_per_s = 500};
  return record;
}

std::vector<JobRecord> jobs() {
  JobRecord mild = job(4711, 2, 4), hostile = job(4294967295, 277777, 4096);
  hostile.name = "=\033[2J\"evil\",\nname of a job";
  hostile.restart_count = 12;
  hostile.run.parts_s.prep_stall = hostile.run.parts_s.fetch_stall;
  JobRecord task = job(4714, 3, 2), unknown = job(4715, 30, 8), now = task;
  task.array_job_id = 4700;
  task.array_task_id = 11;
  task.run.waited_s.reset();
  unknown.run = {};
  unknown.mean_rate_samples_per_s.reset();
  now.job_id = 4716;
  now.array_job_id = now.array_task_id = std::nullopt;
  now.gpus = 0;
  now.end_unix_s.reset();
  now.last_seen_unix_s = 1780010800;
  now.run.home_core_s.reset();
  now.name.clear();
  return {now, unknown, task, mild, hostile};
}

std::vector<uint32_t> ids(const JobTable& table) {
  std::vector<uint32_t> out;
  for (const JobRecord& each : table.jobs) out.push_back(each.job_id);
  return out;
}

TEST_CASE("the tables of jobs equal the golden files") {
  const JobTable table = make_job_table(jobs());
  const std::string narrow = render_job_table(table);
  CHECK(narrow == golden_file("jobs.txt", narrow));
  check_page(narrow);
  const std::string wide = render_job_table(table, {.width = 160});
  CHECK(wide == golden_file("jobs_wide.txt", wide));
  check_page(wide, 160);
  const std::string csv = job_table_csv(table);
  CHECK(csv == golden_file("jobs.csv", csv));
}

TEST_CASE("the table of jobs fits every width") {
  for (const int width : {60, 80, 100, 145, 146, 200}) {
    check_page(render_job_table(make_job_table(jobs()), {.width = width}),
               size_t(width));
  }
}

TEST_CASE("the worst stalls come first, unknown ones last") {
  JobRecord a = job(1, 1, 1), b = job(2, 1, 8), c = job(3, 5, 1);
  JobRecord unknown = job(4, 100, 8), none = job(5, 1, 1);
  unknown.run = {};
  none.run.parts_s.fetch_stall = none.run.waited_s = 0;
  CHECK(ids(make_job_table({unknown, none, a, b, c})) ==
        std::vector<uint32_t>{2, 3, 1, 5, 4});
  CHECK(ids(make_job_table({})).empty());
  // Sorted by GPU hours, not by share: b has 0.8 hours.
  CHECK(*stalled_gpu_h(b) == Approx(0.8));
  CHECK_FALSE(stalled_gpu_h(unknown));
}

TEST_CASE("an array's summary adds up its tasks' GPU hours") {
  JobRecord large = job(2, 10, 8), small = job(1, 1, 1);
  for (JobRecord* task : {&large, &small}) task->array_job_id = 1;
  large.array_task_id = 0;
  small.array_task_id = 1;
  large.run.parts_s.fetch_stall = large.run.waited_s = 36000 * 0.01;
  small.run.parts_s.fetch_stall = small.run.waited_s = 3600 * 0.5;
  JobTable table = make_job_table({large, small});
  table.array_job_id = 1;
  const std::string text = render_job_table(table);
  CHECK(text.find("1_*          2 runs, 0 running: 81.0 GPU hours") !=
        std::string::npos);
  // (0.8 + 0.5) of 81 GPU hours; the mean of 1% and 50% would be 25.5%.
  CHECK(text.find("1.6%") != std::string::npos);
  CHECK(text.find("25.5%") == std::string::npos);
}

TEST_CASE("labels of jobs have Slurm's form") {
  JobRecord record;
  CHECK(job_label(record) == "-");
  record.job_id = 4711;
  CHECK(job_label(record) == "4711");
  record.het_job_id = 4710;
  record.het_offset = 1;
  CHECK(job_label(record) == "4710+1");
  record.array_job_id = 4700;
  record.array_task_id = 0;
  record.restart_count = 2;
  CHECK(job_label(record) == "4700_0 r2");
}

// Splits records as RFC 4180 says.
std::vector<std::vector<std::string>> parse_csv(const std::string& text) {
  std::vector<std::vector<std::string>> records(1, {""});
  bool is_quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    std::string& field = records.back().back();
    if (is_quoted && text[i] == '"' && text[i + 1] == '"') {
      field += text[i++];
    } else if (text[i] == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && text[i] == ',') {
      records.back().emplace_back();
    } else if (!is_quoted && text.compare(i, 2, "\r\n") == 0) {
      records.push_back({""});
      ++i;
    } else {
      field += text[i];
    }
  }
  records.pop_back();
  return records;
}

TEST_CASE("the CSV has a column for each figure, empty if unknown") {
  const JobTable table = make_job_table(jobs());
  const auto records = parse_csv(job_table_csv(table));
  REQUIRE(records.size() == 6);
  for (const auto& record : records) CHECK(record.size() == 28);
  const auto column = [&](const std::string& name, size_t row) {
    for (size_t i = 0; i < records[0].size(); ++i) {
      if (records[0][i] == name) return records[row][i];
    }
    FAIL("no column " + name);
    return std::string();
  };
  CHECK(column("name", 1) == "'=?[2J\"evil\",?name of a job");
  CHECK(column("job", 1) == "4294967295 r12");
  CHECK(column("job", 3) == "4716");
  CHECK(column("fetch_stall_percent", 4) == "10");
  CHECK(column("prep_stall_percent", 4) == "0");
  CHECK(column("exchange_stall_percent", 4).empty());
  CHECK(column("own_core_h", 3).empty());
  CHECK(column("fetch_stall_percent", 5).empty());
  CHECK(column("stalled_gpu_h", 5).empty());
  CHECK(column("verdict", 5) == "unknown");
}

TEST_CASE("the JSON holds the rows and their sums") {
  JobTable table = make_job_table(jobs());
  table.since_unix_s = 5;
  const json document = job_table_json(table);
  CHECK(document["kind"] == "job_stalls");
  CHECK(document["since_unix_s"] == 5.0);
  CHECK(document["array_job_id"].is_null());
  REQUIRE(document["jobs"].size() == 5);
  CHECK(document["jobs"][4]["stalled_gpu_h"].is_null());
  CHECK(document["jobs"][4]["verdict"] == "unknown");
  CHECK(document["jobs"][0]["job"] == "4294967295 r12");
  double stalled = 0;
  for (const json& row : document["jobs"]) {
    if (row["stalled_gpu_h"].is_number()) {
      stalled += row["stalled_gpu_h"].get<double>();
    }
  }
  CHECK(document["totals"]["stalled_gpu_h"] == Approx(stalled));
  CHECK(document["totals"]["runs"] == 5);
}

}  // namespace
}  // namespace penstock
