#include "select_ext/ctld/history_file.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "scratch.h"
#include "tests/unit/wire/job_records.h"

namespace penstock {
namespace {

using Catch::Matchers::ContainsSubstring;

HistoryFile open_file(const std::string& path) {
  Result<HistoryFile> file = HistoryFile::open(path, 100);
  if (!file) FAIL(file.error().message);
  return *std::move(file);
}

std::vector<uint32_t> ids(const Result<std::vector<HistoryRow>>& rows) {
  if (!rows) FAIL(rows.error().message);
  std::vector<uint32_t> out;
  for (const HistoryRow& row : *rows) out.push_back(row.job.job_id);
  return out;
}

using Ids = std::vector<uint32_t>;

TEST_CASE("a record is read back as written, with known and unknown values") {
  Scratch scratch;
  JobRecord bare;
  bare.job_id = 1;
  {
    HistoryFile file = open_file(scratch.file("h"));
    REQUIRE(file.put({full_record(), bare}));
  }
  HistoryFile file = open_file(scratch.file("h"));
  Result<std::vector<HistoryRow>> rows = file.find({});
  REQUIRE(rows);
  REQUIRE(rows->size() == 2);
  CHECK((*rows)[0].job == bare);
  CHECK((*rows)[1].job == full_record());
  struct stat found {};
  REQUIRE(::stat(scratch.file("h").c_str(), &found) == 0);
  CHECK((found.st_mode & 0777) == 0600);
}

TEST_CASE("a run's record is replaced; requeued runs and reused ids are not") {
  Scratch scratch;
  HistoryFile file = open_file(scratch.file("h"));
  JobRecord first = running_record(7), other = running_record(8);
  JobRecord requeued = first, reused = first, elsewhere = first;
  requeued.restart_count += 1;
  reused.submit_unix_s += 1e6;
  elsewhere.cluster = "beta";
  REQUIRE(file.put({first, other, requeued, reused, elsewhere}));
  JobRecord ended = full_record(7);
  REQUIRE(file.put({ended}));
  Result<std::vector<HistoryRow>> rows = file.find({});
  REQUIRE(rows);
  REQUIRE(rows->size() == 5);
  CHECK((*rows)[4].job == ended);
  CHECK((*rows)[4].row == 1);
  CHECK((*rows)[2].job == requeued);
  CHECK((*rows)[1].job == reused);
  CHECK((*rows)[0].job == elsewhere);
  CHECK((*rows)[0].row == 5);
}

TEST_CASE("queries filter by user, job, time and page") {
  Scratch scratch;
  HistoryFile file = open_file(scratch.file("h"));
  std::vector<JobRecord> jobs;
  for (uint32_t id = 1; id <= 6; ++id) {
    JobRecord job = id % 2 ? full_record(id) : running_record(id);
    job.array_job_id = job.array_task_id = std::nullopt;
    job.het_job_id = job.het_offset = std::nullopt;
    job.uid = id <= 3 ? 1000 : 1001;
    job.last_seen_unix_s = 1000 + id;
    jobs.push_back(job);
  }
  jobs[1].array_job_id = 77;
  jobs[2].het_job_id = 77;
  jobs[4].ceiling_samples_per_s.reset();
  REQUIRE(file.put(jobs));
  CHECK(ids(file.find({})) == Ids{6, 5, 4, 3, 2, 1});
  CHECK(ids(file.find({.uid = 1000})) == Ids{3, 2, 1});
  CHECK(ids(file.find({.uid = 0})).empty());
  CHECK(ids(file.find({.job_id = 5})) == Ids{5});
  CHECK(ids(file.find({.job_id = 77})) == Ids{3, 2});
  CHECK(ids(file.find({.job_id = 77, .is_own = true})).empty());
  CHECK(ids(file.find({.job_id = 5, .is_own = true})) == Ids{5});
  CHECK(ids(file.find({.uid = 1001, .job_id = 77})).empty());
  CHECK(ids(file.find({.since_unix_s = 1005})) == Ids{6, 5});
  CHECK(ids(file.find({.measured_only = true})) == Ids{3, 1});
  CHECK(ids(file.find({.limit = 2})) == Ids{6, 5});
  CHECK(ids(file.find({.before_row = 5, .limit = 2})) == Ids{4, 3});
}

TEST_CASE("queries filter by the beginning of the kind") {
  Scratch scratch;
  HistoryFile file = open_file(scratch.file("h"));
  std::vector<JobRecord> jobs;
  for (const char* kind : {"train_#:1", "train_#:2", "train:1", "a%_\xc3\xa9:1",
                           "Train_#:1", ""}) {
    jobs.push_back(full_record(uint32_t(jobs.size() + 1)));
    jobs.back().kind = kind;
  }
  REQUIRE(file.put(jobs));
  CHECK(ids(file.find({.kind = "train_#:"})) == Ids{2, 1});
  CHECK(ids(file.find({.kind = "train_#:1"})) == Ids{1});
  CHECK(ids(file.find({.kind = "a%_\xc3\xa9:"})) == Ids{4});
  CHECK(ids(file.find({.kind = "%"})).empty());
  CHECK(ids(file.find({.kind = ""})).size() == 6);
}

TEST_CASE("no text of a user and no measurement makes an invalid row") {
  Scratch scratch;
  HistoryFile file = open_file(scratch.file("h"));
  JobRecord job = full_record();
  job.name = "'; DROP TABLE jobs; --\xff" + std::string(1000, 'x');
  job.measured_s = std::numeric_limits<double>::quiet_NaN();
  job.ceiling_samples_per_s = std::numeric_limits<double>::infinity();
  job.mean_rate_samples_per_s = std::nan("");
  job.run.wall_s = std::nan("");
  REQUIRE(file.put({job}));
  Result<std::vector<HistoryRow>> rows = file.find({});
  REQUIRE(rows);
  REQUIRE(rows->size() == 1);
  CHECK(rows->front().job.name == job.name.substr(0, 256));
  CHECK(rows->front().job.measured_s == 0);
  CHECK_FALSE(rows->front().job.ceiling_samples_per_s);
  CHECK_FALSE(rows->front().job.mean_rate_samples_per_s);
  CHECK_FALSE(rows->front().job.run.wall_s);
  CHECK(rows->front().job.run.parts_s.compute == job.run.parts_s.compute);
}

using Removed = std::pair<int64_t, int64_t>;  // by age, by number

Removed pruned(HistoryFile& file, HistoryFile::Kept kept, double before_unix_s,
               int64_t most_rows, int64_t max_rows) {
  const auto rows = file.prune(kept, before_unix_s, most_rows, max_rows);
  REQUIRE(rows);
  return {rows->old, rows->beyond_number};
}

TEST_CASE("old and surplus rows are removed in small steps") {
  Scratch scratch;
  HistoryFile file = open_file(scratch.file("h"));
  std::vector<JobRecord> jobs;
  for (uint32_t id = 1; id <= 100; ++id) {
    jobs.push_back(full_record(id));
    jobs.back().last_seen_unix_s = id;
  }
  REQUIRE(file.put(jobs));
  CHECK(pruned(file, HistoryFile::Kept::kRuns, 41, 1000, 30) == Removed(30, 0));
  CHECK(pruned(file, HistoryFile::Kept::kRuns, 41, 1000, 30) == Removed(10, 0));
  CHECK(pruned(file, HistoryFile::Kept::kRuns, 41, 1000, 30) == Removed(0, 0));
  CHECK(ids(file.find({.limit = 1000})).back() == 41);
  CHECK(pruned(file, HistoryFile::Kept::kRuns, 51, 20, 30) == Removed(10, 20));
  CHECK(ids(file.find({.limit = 1000})).back() == 71);
  CHECK(pruned(file, HistoryFile::Kept::kRuns, 51, 20, 30) == Removed(0, 10));
  CHECK(ids(file.find({.limit = 1000})).size() == 20);
  CHECK(pruned(file, HistoryFile::Kept::kRuns, 51, 20, 30) == Removed(0, 0));
}

std::unique_ptr<Database> database_of(const std::string& path,
                                      const std::string& sql) {
  Result<std::unique_ptr<Database>> database = Database::open(path, 100);
  REQUIRE(database);
  Status made = (*database)->run(sql);
  if (!made) FAIL(made.error().message);
  return *std::move(database);
}

HistoryFile migrated(const Scratch& scratch, int version) {
  database_of(scratch.file("h"),
              read_text(std::string(PENSTOCK_FIXTURES) + "/version_" +
                        std::to_string(version) + ".sql"));
  return open_file(scratch.file("h"));
}

TEST_CASE("a history of version 1 is migrated with all its rows") {
  Scratch scratch;
  {
    HistoryFile file = migrated(scratch, 1);
    Result<std::vector<HistoryRow>> rows = file.find({});
    REQUIRE(rows);
    REQUIRE(rows->size() == 5);
    JobRecord first;
    first.cluster = "alpha";
    first.job_id = 100;
    first.submit_unix_s = 1780000000;
    first.uid = 1000;
    first.user = "ada";
    first.account = "physics";
    first.name = "train_1";
    first.command_hash = "af63bd4c8601b7df";
    first.kind = "train_#:1";
    first.nodes = 1;
    first.ranks = first.gpus = 4;
    first.model = "resnet50";
    first.batch = 256;
    first.start_unix_s = 1780000010;
    first.end_unix_s = 1780003600;
    first.state = "COMPLETED";
    first.measured_s = 3000;
    first.ceiling_samples_per_s = 800;
    first.loader_cpu_s_per_sample = 0.004;
    first.storage_bytes_per_sample = 110000;
    first.trainer_reserve_cores = 0.5;
    first.mean_rate_samples_per_s = 640;
    first.last_seen_unix_s = 1780003600;
    CHECK((*rows)[4].job == first);
    CHECK((*rows)[3].job.restart_count == 1);
    CHECK((*rows)[2].job.array_task_id == 7u);
    CHECK((*rows)[1].job.last_seen_unix_s == 1780002100);
    CHECK((*rows)[0].job.last_seen_unix_s == 1780002500);
    CHECK(ids(file.find({.job_id = 101})) == Ids{102});
    // The migrated file accepts new rows.
    REQUIRE(file.put({full_record()}));
  }
  CHECK(ids(open_file(scratch.file("h")).find({})).size() == 6);
}

TEST_CASE("a history of version 2 is migrated with all its rows") {
  Scratch scratch;
  HistoryFile file = migrated(scratch, 2);
  Result<std::vector<HistoryRow>> rows = file.find({});
  REQUIRE(rows);
  REQUIRE(rows->size() == 2);
  // Unchanged, without the fields that version 2 did not have.
  JobRecord old = full_record(100);
  old.run = {};
  CHECK((*rows)[1].job == old);
  CHECK((*rows)[0].job.state == "RUNNING");
  CHECK((*rows)[0].job.run == RunTotals());
  // The migrated file accepts new fields, also of a run that it has.
  JobRecord now = full_record(100);
  REQUIRE(file.put({now}));
  rows = file.find({.job_id = 100});
  REQUIRE(rows);
  REQUIRE(rows->size() == 1);
  CHECK(rows->front().job == now);
}

TEST_CASE("a history of version 3 is migrated with all its rows") {
  Scratch scratch;
  HistoryFile file = migrated(scratch, 3);
  const auto rows = file.find({});
  REQUIRE(rows);
  REQUIRE(rows->size() == 2);
  CHECK(*(*rows)[1].job.run.wall_s == 3600.5);
  CHECK((*rows)[0].job.run == RunTotals());
  CHECK(file.find_reports({.job_id = 100})->empty());
}

TEST_CASE("a history of version 4 is migrated with its runs and reports") {
  Scratch scratch;
  HistoryFile file = migrated(scratch, 4);
  const auto rows = file.find({});
  REQUIRE(rows);
  REQUIRE(rows->size() == 2);
  CHECK(*(*rows)[1].job.run.wall_s == 3600.5);
  CHECK_FALSE((*rows)[1].job.run.observed_s);
  CHECK(file.find_reports({.job_id = 100})->size() == 1);
}

TEST_CASE("a history of version 5 is migrated with its observed time") {
  Scratch scratch;
  HistoryFile file = migrated(scratch, 5);
  const auto rows = file.find({});
  REQUIRE(rows);
  REQUIRE(rows->size() == 2);
  CHECK(*(*rows)[1].job.run.observed_s == 3000.5);
  CHECK_FALSE((*rows)[1].job.run.gpu_s);
}

TEST_CASE("a history of version 6 is migrated with its use of GPUs") {
  Scratch scratch;
  HistoryFile file = migrated(scratch, 6);
  const auto rows = file.find({});
  REQUIRE(rows);
  REQUIRE(rows->size() == 2);
  CHECK(*(*rows)[1].job.run.gpu_s == 7000.5);
  CHECK_FALSE((*rows)[1].job.run.guest_core_s);
}

TEST_CASE("a failed migration leaves the file unchanged") {
  Scratch scratch;
  // An existing table makes the second step fail.
  database_of(scratch.file("h"),
              read_text(std::string(PENSTOCK_FIXTURES) + "/version_1.sql") +
                  "CREATE TABLE single_values (x);");
  Result<HistoryFile> file = HistoryFile::open(scratch.file("h"), 100);
  REQUIRE_FALSE(file);
  CHECK_THAT(file.error().message,
             ContainsSubstring("tables from version 1 to 2") &&
                 ContainsSubstring("single_values already exists"));
  auto database = database_of(scratch.file("h"), "");
  CHECK(*database->ask("PRAGMA user_version") == 1);
  CHECK(*database->ask("SELECT count(*) FROM jobs") == 5);
  CHECK(*database->ask("SELECT count(*) FROM pragma_table_info('jobs')") == 29);
}

TEST_CASE(
    "a newer history and another program's database are refused unchanged") {
  Scratch scratch;
  struct Row {
    const char* sql;
    const char* says;
  };
  for (const Row& row :
       {Row{"PRAGMA application_id=1347310420; PRAGMA user_version=99;"
            "CREATE TABLE jobs (x);",
            "version 99, this penstockctld knows those up to 7"},
        Row{"CREATE TABLE jobs (x);", "another program's database"},
        Row{"PRAGMA application_id=5; CREATE TABLE t (x);",
            "another program's database"},
        Row{"PRAGMA user_version=1;", "another program's database"}}) {
    const std::string path = scratch.file("foreign");
    std::filesystem::remove(path);
    database_of(path, row.sql);
    Result<HistoryFile> file = HistoryFile::open(path, 100);
    REQUIRE_FALSE(file);
    CHECK(file.error().code == Code::kPermissionDenied);
    CHECK_THAT(file.error().message, ContainsSubstring(row.says) &&
                                         ContainsSubstring("HistoryFile="));
    CHECK(*database_of(path, "")->ask(
              "SELECT count(*) FROM pragma_table_info('jobs')") <= 1);
  }
}

TEST_CASE(
    "a damaged file, a locked file and a missing directory give different "
    "errors") {
  Scratch scratch;
  const std::string path = scratch.file("h");
  std::ofstream(path) << std::string(8192, 'x');
  Result<HistoryFile> damaged = HistoryFile::open(path, 100);
  REQUIRE_FALSE(damaged);
  CHECK(damaged.error().code == Code::kInvalidArgument);
  CHECK_THAT(damaged.error().message, ContainsSubstring(path));

  HistoryFile file = open_file(scratch.file("l"));
  auto locker = database_of(scratch.file("l"), "BEGIN IMMEDIATE");
  Status locked = file.put({full_record()});
  REQUIRE_FALSE(locked);
  CHECK(locked.error().code == Code::kUnavailable);
  CHECK_THAT(locked.error().message, ContainsSubstring("locked"));
  REQUIRE(locker->run("COMMIT"));
  CHECK(file.put({full_record()}));

  Result<HistoryFile> nowhere = HistoryFile::open(scratch.file("none/h"), 100);
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().code == Code::kNotFound);
}

constexpr const char* kOtherProcess = "PENSTOCK_TEST_HISTORY";

// Run by the next test, in another process.
TEST_CASE("another process puts a record", "[.][other-process]") {
  const char* path = std::getenv(kOtherProcess);
  REQUIRE(path != nullptr);
  REQUIRE(open_file(path).put({full_record(3)}));
}

TEST_CASE("another process that opens the history removes no data") {
  Scratch scratch;
  const std::string path = scratch.file("h");
  HistoryFile writer = open_file(path), reader = open_file(path);
  REQUIRE(writer.put({full_record(1)}));
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::setenv(kOtherProcess, path.c_str(), 1);
    ::execl("/proc/self/exe", "other", "[other-process]", nullptr);
    ::_exit(127);
  }
  int state = 0;
  REQUIRE(::waitpid(child, &state, 0) == child);
  REQUIRE((WIFEXITED(state) && WEXITSTATUS(state) == 0));
  // The last to close a database removes its log: that was not the last.
  CHECK(std::filesystem::exists(path + "-wal"));
  REQUIRE(writer.put({full_record(2)}));
  CHECK(ids(reader.find({})) == Ids{2, 3, 1});
  CHECK(*database_of(path, "")->ask(
            "SELECT count(*) FROM pragma_integrity_check WHERE "
            "integrity_check = 'ok'") == 1);
}

TEST_CASE("a search that takes too long is ended, and the next one works") {
  Scratch scratch;
  REQUIRE(open_file(scratch.file("h")).put({full_record(4)}));
  auto database = database_of(scratch.file("h"), "");
  database->limit_time(1);
  Result<int64_t> count = database->ask(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
      "SELECT count(*) FROM n");
  REQUIRE_FALSE(count);
  CHECK(count.error().code == Code::kUnavailable);
  CHECK_THAT(count.error().message, ContainsSubstring("ask for less"));
  CHECK(*database->ask("SELECT count(*) FROM jobs WHERE job_id < 5") == 1);
}

TEST_CASE("a connection limited to reading finds records and writes none") {
  Scratch scratch;
  HistoryFile file = open_file(scratch.file("h"));
  REQUIRE(file.put({full_record(1)}));
  REQUIRE(file.limit_to_reading(1000));
  CHECK_FALSE(file.put({full_record(2)}));
  CHECK(ids(file.find({})) == Ids{1});
}

TEST_CASE("kinds ignore numbers, and hashes are FNV-1a") {
  CHECK(text_hash("") == "cbf29ce484222325");
  CHECK(text_hash("a") == "af63dc4c8601ec8c");
  CHECK(text_hash("foobar") == "85944171f73967e8");
  CHECK(job_kind("train_17", "/t.sh --seed 5") ==
        job_kind("train_018", "/t.sh --seed 1234"));
  CHECK(job_kind("train_17", "/t.sh") != job_kind("train_17", "/u.sh"));
  CHECK(job_kind("train", "/t.sh") != job_kind("trainer", "/t.sh"));
  CHECK(job_kind("a1", "") == "a#:cbf29ce484222325");
  CHECK(kinds_of_name("a17") == "a#:");
  CHECK(job_kind(std::string(200, 'x'), "/t.sh")
            .starts_with(kinds_of_name(std::string(300, 'x'))));
  CHECK(job_kind(std::string(5000, 'x'), "").size() == 128 + 1 + 16);
}

KeptReport report_of(uint32_t job, const std::string& node) {
  return {job, node, 5.25, 6, 1000, 100, std::string("\0\xff bytes", 8)};
}

TEST_CASE("reports are read back as written, those of one job and user") {
  Scratch scratch;
  HistoryFile file = open_file(scratch.file("h"));
  KeptReport other = report_of(7, "n3");
  other.uid = 1001;
  REQUIRE(file.put_reports(std::vector{report_of(7, "n1"), report_of(8, "n1"),
                                       report_of(7, "n2"), other}));
  const auto all = file.find_reports(ReportQuery{.job_id = 7});
  REQUIRE(all);
  REQUIRE(all->size() == 3);
  CHECK((*all)[0].report == report_of(7, "n1"));
  CHECK((*all)[1].report == report_of(7, "n2"));
  CHECK(file.find_reports(ReportQuery{.job_id = 7, .uid = 1001})->size() == 1);
  CHECK(file.find_reports(ReportQuery{.job_id = 7, .uid = 7})->empty());
  const auto rest =
      file.find_reports(ReportQuery{.job_id = 7, .after_row = (*all)[0].row});
  CHECK(rest->size() == 2);
  CHECK(file.find_reports(ReportQuery{.job_id = 7, .limit = 2})->size() == 2);
}

TEST_CASE("a later report replaces that of the same run and node") {
  Scratch scratch;
  HistoryFile file = open_file(scratch.file("h"));
  KeptReport newer = report_of(7, "n1"), rerun = newer;
  newer.packed = "newer";
  newer.updated_unix_s += 1;
  rerun.started_unix_s += 1;
  REQUIRE(file.put_reports(std::vector{report_of(7, "n1"), newer, rerun}));
  const auto found = file.find_reports(ReportQuery{.job_id = 7});
  REQUIRE(found->size() == 2);
  CHECK((*found)[0].report.packed == "newer");
  // An earlier one, and the same again, change nothing.
  KeptReport again = newer;
  again.kept_unix_s += 1000;
  REQUIRE(file.put_reports(std::vector{report_of(7, "n1"), again}));
  CHECK((*file.find_reports(ReportQuery{.job_id = 7}))[0].report == newer);
}

TEST_CASE("old reports are removed, some at once") {
  Scratch scratch;
  HistoryFile file = open_file(scratch.file("h"));
  std::vector<KeptReport> reports;
  for (uint32_t job = 1; job <= 10; ++job) {
    reports.push_back(report_of(job, "n1"));
    reports.back().kept_unix_s = job;
  }
  REQUIRE(file.put_reports(reports));
  CHECK(pruned(file, HistoryFile::Kept::kReports, 6, 100, 3) == Removed(3, 0));
  CHECK(pruned(file, HistoryFile::Kept::kReports, 6, 100, 30) == Removed(2, 0));
  CHECK(pruned(file, HistoryFile::Kept::kReports, 6, 100, 30) == Removed(0, 0));
  CHECK(file.find_reports(ReportQuery{.job_id = 5})->empty());
  CHECK(file.find_reports(ReportQuery{.job_id = 6})->size() == 1);
  CHECK(pruned(file, HistoryFile::Kept::kReports, 6, 2, 30) == Removed(0, 3));
  CHECK(file.find_reports(ReportQuery{.job_id = 8})->empty());
  CHECK(file.find_reports(ReportQuery{.job_id = 9})->size() == 1);
}

}  // namespace
}  // namespace penstock
