// The history under crashes, damage, locks and full disks.
#include "select_ext/ctld/history.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "common/clock.h"
#include "scratch.h"
#include "tests/unit/wire/job_records.h"

namespace penstock {
namespace {

using Catch::Matchers::ContainsSubstring;
using Clock = std::chrono::steady_clock;

constexpr int kPatience_ms = 20000;

// Collects the log lines of all threads.
class Said {
 public:
  History::Say sink() {
    return [this](const std::string& line) {
      const std::lock_guard lock(mutex_);
      lines_.push_back(line);
    };
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

template <class Condition>
void wait_for(const char* what, Condition condition) {
  const auto deadline = Clock::now() + std::chrono::milliseconds(kPatience_ms);
  while (!condition()) {
    INFO("waiting for " << what);
    REQUIRE(Clock::now() < deadline);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

std::unique_ptr<History> open_history(const HistoryOptions& options,
                                      Said& said) {
  Result<std::unique_ptr<History>> history =
      History::open(options, said.sink());
  if (!history) FAIL(history.error().message);
  return *std::move(history);
}

HistoryOptions quick(const std::string& path) {
  HistoryOptions options;
  options.path = path;
  options.commit_every_ms = 10;
  options.busy_timeout_ms = 20;
  return options;
}

// A record that retention keeps.
JobRecord recent(uint32_t job_id) {
  JobRecord job = full_record(job_id);
  job.array_job_id = job.array_task_id = std::nullopt;
  job.het_job_id = job.het_offset = std::nullopt;
  job.last_seen_unix_s = unix_s();
  return job;
}

size_t count_of(History& history, const HistoryQuery& query = {}) {
  Result<std::vector<HistoryRow>> rows = history.find(query);
  if (!rows) FAIL(rows.error().message);
  return rows->size();
}

TEST_CASE("records reach the file within the period, and at the end") {
  Scratch scratch;
  Said said;
  HistoryOptions options = quick(scratch.file("h"));
  options.commit_every_ms = 1000;
  {
    auto history = open_history(options, said);
    const auto start = Clock::now();
    history->put(recent(1));
    CHECK(history->counts().pending == 1);
    wait_for("the transaction", [&] { return count_of(*history) == 1; });
    const double took_s =
        std::chrono::duration<double>(Clock::now() - start).count();
    CHECK(took_s < 3);  // 1 s and the machine's own hiccups
    wait_for("the count", [&] { return history->counts().written == 1; });
    CHECK(history->counts().pending == 0);
    history->put(recent(2));
    history->put(recent(2));  // replaces: one row is written
    CHECK(history->counts().pending == 1);
  }
  auto history = open_history(options, said);
  CHECK(count_of(*history) == 2);
  history->put(recent(3));
  CHECK(history->flush(kPatience_ms));
  CHECK(count_of(*history) == 3);
  CHECK(said.lines().empty());
}

TEST_CASE("kill -9 loses no record that is older than a second") {
  Scratch scratch;
  int to_parent[2];
  REQUIRE(::pipe(to_parent) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::close(to_parent[0]);
    HistoryOptions options;
    options.path = scratch.file("h");
    options.commit_every_ms = 100;
    Result<std::unique_ptr<History>> history =
        History::open(options, [](const std::string&) {});
    if (!history) ::_exit(1);
    for (uint32_t id = 1;; ++id) {
      (*history)->put(recent(id));
      const std::pair<uint32_t, double> note{id, unix_s()};
      if (::write(to_parent[1], &note, sizeof note) < 0) ::_exit(2);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  ::close(to_parent[1]);
  std::vector<std::pair<uint32_t, double>> notes;
  std::pair<uint32_t, double> note;
  while (notes.size() < 600) {
    REQUIRE(::read(to_parent[0], &note, sizeof note) == sizeof note);
    notes.push_back(note);
  }
  REQUIRE(::kill(child, SIGKILL) == 0);
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  while (::read(to_parent[0], &note, sizeof note) == sizeof note) {
    notes.push_back(note);
  }
  ::close(to_parent[0]);
  const double killed_unix_s = notes.back().second;
  size_t owed = 0;
  for (const auto& [id, put_unix_s] : notes) {
    owed += put_unix_s < killed_unix_s - 1 ? 1 : 0;
  }
  Said said;
  auto history = open_history(quick(scratch.file("h")), said);
  const size_t kept = count_of(*history, {.limit = 1000000});
  INFO(notes.size() << " put, " << owed << " a second before, " << kept
                    << " kept");
  CHECK(kept >= owed);
  CHECK(kept > 0);
  CHECK(kept <= notes.size());
}

TEST_CASE("retention removes rows beside the writing") {
  Scratch scratch;
  Said said;
  HistoryOptions options = quick(scratch.file("h"));
  options.retention_days = 30;
  options.max_jobs = 2000;
  auto history = open_history(options, said);
  for (uint32_t id = 1; id <= 5000; ++id) {
    JobRecord job = recent(id);
    if (id > 4000) job.last_seen_unix_s -= 31 * 86400;
    history->put(job);
  }
  REQUIRE(history->flush(kPatience_ms));
  // 1000 by age; of the others all but the last 2000.
  wait_for("retention", [&] { return history->counts().pruned == 3000; });
  Result<std::vector<HistoryRow>> rows = history->find({.limit = 10000});
  REQUIRE(rows);
  CHECK(rows->size() == 2000);
  CHECK(rows->front().job.job_id == 4000);
  CHECK(rows->back().job.job_id == 2001);
}

KeptReport report_of(uint32_t job, size_t bytes = 100) {
  return {job, "n1", 5.5, 6.5, 1000, unix_s(), std::string(bytes, 'x')};
}

std::vector<uint32_t> kept_by(History& history) {
  std::vector<uint32_t> jobs;
  for (const KeptReport& report : history.take_kept()) {
    jobs.push_back(report.job_id);
  }
  return jobs;
}

TEST_CASE("reports removed for their number are told, once a day") {
  Scratch scratch;
  Said said;
  HistoryOptions options = quick(scratch.file("h"));
  options.max_reports = 5;
  auto history = open_history(options, said);
  for (uint32_t job = 1; job <= 20; ++job) {
    history->put(report_of(job));
    wait_for("the disk", [&] { return !history->take_kept().empty(); });
  }
  history->put(recent(1));  // removal follows a record
  wait_for("the oldest to be removed",
           [&] { return history->find_reports({.job_id = 15})->empty(); });
  CHECK(history->find_reports({.job_id = 16})->size() == 1);
  const auto lines = said.lines();
  CHECK(lines.size() == 1);
  CHECK(lines.front().starts_with(
      "history: 5 reports are the most that are kept: "));
}

TEST_CASE("runs removed for their number are told, once a day") {
  Scratch scratch;
  Said said;
  HistoryOptions options = quick(scratch.file("h"));
  options.max_jobs = 5;
  auto history = open_history(options, said);
  for (uint32_t job = 1; job <= 20; ++job) {
    history->put(recent(job));
    REQUIRE(history->flush(10000));
  }
  wait_for("the oldest to be removed",
           [&] { return history->counts().pruned == 15; });
  const auto lines = said.lines();
  REQUIRE(lines.size() == 1);
  CHECK(lines.front().starts_with(
      "history: 5 runs are the most that are kept: "));
}

TEST_CASE("a report counts as kept once it is on the disk") {
  Scratch scratch;
  Said said;
  auto history = open_history(quick(scratch.file("h")), said);
  for (uint32_t job = 1; job <= 200; ++job) history->put(report_of(job));
  std::vector<uint32_t> jobs;
  wait_for("all to be kept", [&] {
    for (const uint32_t job : kept_by(*history)) jobs.push_back(job);
    return jobs.size() == 200;
  });
  CHECK(jobs.front() == 1);
  CHECK(jobs.back() == 200);
  CHECK(history->find_reports(ReportQuery{.job_id = 200})->size() == 1);
  CHECK(kept_by(*history).empty());
}

TEST_CASE("reports that find no room are dropped, and not kept") {
  Scratch scratch;
  Said said;
  HistoryOptions options = quick(scratch.file("h"));
  options.commit_every_ms = 60'000;
  options.max_pending_report_bytes = 1000;
  auto history = open_history(options, said);
  for (uint32_t job = 1; job <= 4; ++job) history->put(report_of(job, 300));
  REQUIRE(history->flush(kPatience_ms));
  wait_for("three to be kept", [&] {
    return history->find_reports(ReportQuery{.job_id = 3})->size() == 1;
  });
  CHECK(kept_by(*history) == std::vector<uint32_t>{1, 2, 3});
  history->put(report_of(4, 300));  // its agent sends it again
  REQUIRE(history->flush(kPatience_ms));
  wait_for("the fourth", [&] {
    return history->find_reports(ReportQuery{.job_id = 4})->size() == 1;
  });
}

TEST_CASE("reports have a retention of their own") {
  Scratch scratch;
  Said said;
  HistoryOptions options = quick(scratch.file("h"));
  options.report_retention_days = 90;
  auto history = open_history(options, said);
  KeptReport old = report_of(1);
  old.kept_unix_s -= 91 * 86400;
  history->put(old);
  history->put(report_of(2));
  history->put(recent(3));
  wait_for("the new one", [&] {
    return history->find_reports(ReportQuery{.job_id = 2})->size() == 1;
  });
  wait_for("the old one to go", [&] {
    history->put(recent(3));  // each write prunes
    return history->find_reports(ReportQuery{.job_id = 1})->empty();
  });
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

size_t set_aside_in(const std::string& directory) {
  size_t count = 0;
  for (const std::string& name : names_in(directory)) {
    count += name.starts_with("h.corrupt-") && !name.ends_with("-wal") &&
             !name.ends_with("-shm");
  }
  return count;
}

TEST_CASE("a damaged file is set aside when it is opened") {
  Scratch scratch;
  std::ofstream(scratch.file("h")) << std::string(20000, 'x');
  Said said;
  auto history = open_history(quick(scratch.file("h")), said);
  CHECK(set_aside_in(scratch.path) == 1);
  REQUIRE(said.lines().size() == 1);
  CHECK_THAT(said.lines().front(), ContainsSubstring(scratch.file("h")) &&
                                       ContainsSubstring(".corrupt-") &&
                                       ContainsSubstring("created a new file"));
  history->put(recent(1));
  REQUIRE(history->flush(kPatience_ms));
  CHECK(count_of(*history) == 1);
}

// Overwrites all but the first page, as a failing disk might.
void damage(const std::string& path) {
  const auto size = std::filesystem::file_size(path);
  REQUIRE(size > 8192);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096);
  file << std::string(size - 4096, '\x5a');
}

TEST_CASE("a file damaged in use is set aside, and no pending record is lost") {
  Scratch scratch;
  Said said;
  const std::string path = scratch.file("h");
  {
    auto history = open_history(quick(path), said);
    for (uint32_t id = 1; id <= 500; ++id) history->put(recent(id));
    REQUIRE(history->flush(kPatience_ms));
  }
  auto history = open_history(quick(path), said);
  damage(path);
  SECTION("a write meets the damage") { history->put(recent(1000)); }
  SECTION("a read meets it first") {
    wait_for("the reader to see it", [&] {
      return !history->find({.limit = 1000}) || set_aside_in(scratch.path);
    });
    history->put(recent(1000));
  }
  wait_for("the new file", [&] { return set_aside_in(scratch.path) == 1; });
  REQUIRE(history->flush(kPatience_ms));
  Result<std::vector<HistoryRow>> rows = history->find({.limit = 1000});
  REQUIRE(rows);
  REQUIRE_FALSE(rows->empty());
  CHECK(rows->front().job.job_id == 1000);
  REQUIRE_FALSE(said.lines().empty());
  CHECK_THAT(said.lines().front(), ContainsSubstring("created a new file"));
}

TEST_CASE("records wait in memory for a locked file; one message, no loss") {
  Scratch scratch;
  Said said;
  auto history = open_history(quick(scratch.file("h")), said);
  Result<std::unique_ptr<Database>> locker =
      Database::open(scratch.file("h"), 1000);
  REQUIRE(locker);
  REQUIRE((*locker)->run("BEGIN IMMEDIATE"));
  for (uint32_t id = 1; id <= 10; ++id) history->put(recent(id));
  wait_for("the failure", [&] { return history->counts().failing; });
  CHECK(history->counts().pending == 10);
  const Status impatient = history->flush(50);
  REQUIRE_FALSE(impatient);
  CHECK(impatient.error().code == Code::kUnavailable);
  // Reads go on, and newer records still replace older ones.
  CHECK(count_of(*history) == 0);
  JobRecord newer = recent(5);
  newer.state = "CANCELLED";
  history->put(newer);
  REQUIRE((*locker)->run("COMMIT"));
  REQUIRE(history->flush(kPatience_ms));
  CHECK(count_of(*history) == 10);
  CHECK(history->find({.job_id = 5})->front().job.state == "CANCELLED");
  wait_for("the good news", [&] { return said.lines().size() == 2; });
  CHECK_THAT(said.lines()[0],
             ContainsSubstring("locked") && ContainsSubstring("jobs go on"));
  CHECK_THAT(said.lines()[1], ContainsSubstring("is writable again"));
}

TEST_CASE(
    "memory of waiting records is bounded, and the oldest are dropped first") {
  Scratch scratch;
  Said said;
  HistoryOptions options = quick(scratch.file("h"));
  options.max_pending = 100;
  auto history = open_history(options, said);
  Result<std::unique_ptr<Database>> locker =
      Database::open(scratch.file("h"), 1000);
  REQUIRE(locker);
  REQUIRE((*locker)->run("BEGIN IMMEDIATE"));
  for (uint32_t id = 1; id <= 50; ++id) history->put(recent(id));
  wait_for("the failure", [&] { return history->counts().failing; });
  for (uint32_t id = 51; id <= 1000; ++id) history->put(recent(id));
  // Up to 100 may be on their way to the disk, up to 100 wait.
  CHECK(history->counts().pending <= 200);
  REQUIRE((*locker)->run("COMMIT"));
  (void)history->flush(kPatience_ms);
  wait_for("the rest", [&] { return history->counts().pending == 0; });
  const History::Counts counts = history->counts();
  CHECK(counts.written + counts.left_out == 1000);
  Result<std::vector<HistoryRow>> rows = history->find({.limit = 10000});
  REQUIRE(rows);
  CHECK(rows->size() == counts.written);
  CHECK(rows->front().job.job_id == 1000);
}

// A file system of a few hundred KiB, unmounted at the end.
struct SmallDisk {
  explicit SmallDisk(const std::string& at) : path(at) {
    REQUIRE(::mkdir(path.c_str(), 0700) == 0);
    REQUIRE(::mount("tmpfs", path.c_str(), "tmpfs", 0, "size=400k") == 0);
  }
  ~SmallDisk() { ::umount2(path.c_str(), MNT_DETACH); }

  std::string path;
};

void fill(const std::string& path) {
  std::ofstream file(path);
  while (file << std::string(4096, 'x') << std::flush) {
  }
}

TEST_CASE(
    "on a full disk the service continues, logs it once, and writes once there "
    "is room") {
  if (::geteuid() != 0) {
    WARN("skipped: only root can mount a small disk");
    return;
  }
  const bool full_at_start = GENERATE(false, true);
  Scratch scratch;
  SmallDisk disk(scratch.file("disk"));
  Said said;
  if (full_at_start) fill(disk.path + "/ballast");
  auto history = open_history(quick(disk.path + "/h"), said);
  if (!full_at_start) {
    history->put(recent(1));
    REQUIRE(history->flush(kPatience_ms));
    fill(disk.path + "/ballast");
  }
  for (uint32_t id = 2; id <= 300; ++id) history->put(recent(id));
  history->put(report_of(7, 20'000));
  // The failure is counted before it is logged.
  wait_for("the failure",
           [&] { return history->counts().failing && !said.lines().empty(); });
  const uint64_t written = history->counts().written;
  REQUIRE(said.lines().size() == 1);
  CHECK_THAT(said.lines().front(),
             ContainsSubstring("jobs go on") && ContainsSubstring(disk.path));
  CHECK(history->counts().pending + written >= 299);
  CHECK(kept_by(*history).empty());
  std::filesystem::remove(disk.path + "/ballast");
  REQUIRE(history->flush(kPatience_ms));
  CHECK(count_of(*history, {.limit = 1000}) == (full_at_start ? 299 : 300));
  wait_for("the report",
           [&] { return kept_by(*history) == std::vector<uint32_t>{7}; });
  CHECK(said.lines().size() <= 3);
  CHECK_THAT(said.lines().back(), ContainsSubstring("is writable again"));
}

TEST_CASE("faults that only the admin can correct are errors at the start") {
  Scratch scratch;
  Said said;
  for (const std::string& path :
       {scratch.file("none/h"), scratch.path, scratch.file("other")}) {
    if (path == scratch.file("other")) {
      Result<std::unique_ptr<Database>> other = Database::open(path, 100);
      REQUIRE(other);
      REQUIRE((*other)->run("CREATE TABLE t (x)"));
    }
    Result<std::unique_ptr<History>> history =
        History::open(quick(path), said.sink());
    REQUIRE_FALSE(history);
    CHECK_THAT(history.error().message, ContainsSubstring(path));
  }
  CHECK(said.lines().empty());
}

}  // namespace
}  // namespace penstock
