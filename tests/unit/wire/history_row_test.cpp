#include "wire/history_row.h"

#include "tests/unit/catch.h"
#include "tests/unit/wire/job_records.h"

namespace penstock {
namespace {

using nlohmann::json;

TEST_CASE("a row reads back unchanged except for the command's hash") {
  JobRecord job = full_record();
  job.command_hash.clear();
  CHECK(read_history_row(json::parse(history_row(job).dump())) == job);
  CHECK(read_history_row(history_row(JobRecord())) == JobRecord());
}

TEST_CASE("unknown figures are null, and 0 is a figure") {
  JobRecord job;
  job.run.parts_s.fetch_stall = 0;
  const json row = history_row(job);
  CHECK(row["wall_s"].is_null());
  CHECK(row["fetch_stall_s"] == 0.0);
  CHECK(row["batch"].is_null());
  CHECK(row["name"].is_null());
  CHECK(read_history_row(row).run.parts_s.fetch_stall == 0.0);
  CHECK_FALSE(read_history_row(row).run.wall_s);
}

TEST_CASE("a row of a controller without totals can be read") {
  json row = history_row(full_record());
  for (const RunField& field : kRunFields) row.erase(field.name);
  const JobRecord job = read_history_row(row);
  CHECK(job.run == RunTotals());
  CHECK(job.job_id == full_record().job_id);
}

TEST_CASE("values of another type count as missing") {
  for (const char* text : {"null", "[]", "7", R"("x")"}) {
    CHECK(read_history_row(json::parse(text)) == JobRecord());
  }
  CHECK(read_history_row(json::parse(R"({"job_id": -1, "uid": 4294967296,
    "name": 7, "wall_s": "1", "gpus": 1.5, "start_unix_s": [],
    "end_unix_s": {}, "array_task_id": "3", "restart_count": null})")) ==
        JobRecord());
}

TEST_CASE("contradictory times of a run are dropped") {
  json row = history_row(full_record());
  row["compute_s"] = 4000;
  RunTotals run = read_history_row(row).run;
  CHECK(run.wall_s == 3600.0);
  CHECK_FALSE(run.parts_s.compute);
  CHECK_FALSE(run.parts_s.prep_stall);
  row = history_row(full_record());
  row["wall_s"] = -1;
  run = read_history_row(row).run;
  CHECK(run.wall_s == 0.0);
  CHECK_FALSE(run.parts_s.compute);
}

}  // namespace
}  // namespace penstock
