#include "node_agent/report_queue.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "common/clock.h"
#include "common/hex.h"
#include "report/packed.h"
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"
#include "tests/unit/node_agent/hung_directory.h"
#include "tests/unit/node_agent/logged.h"

namespace penstock {
namespace {

constexpr uint64_t kLong_ms = 20'000;
constexpr uint64_t kSecond_ns = 1'000'000'000;

// A queue, and the directory of its reports.
const std::string kNode = "n1";

class Reports {
 public:
  explicit Reports(ReportQueue::Work work = {})
      : loop_(*EventLoop::create()),
        children_(loop_),
        queue(children_, std::move(work)) {
    ::signal(SIGCHLD, SIG_IGN);
  }
  ~Reports() { children_.end_all(); }

  ReportedJob job(uint32_t id, const std::string& name = "") const {
    return job_in(directory.path(), id, name);
  }
  static ReportedJob job_in(const std::string& path, uint32_t id,
                         const std::string& name = "") {
    ReportedJob job;
    job.report.job_id = id;
    job.report.node = kNode;
    job.report.job_name = name;
    job.uid = ::getuid();
    job.format = PENSTOCK_REPORT_JSON;
    job.directory = path;
    return job;
  }
  bool has(uint32_t id) const {
    return std::filesystem::exists(std::filesystem::path(directory.path()) /
                                   std::to_string(id) / (kNode + ".json"));
  }
  // Until all reports are written. A killed writer takes a moment to end.
  void finish() {
    for (int i = 0; i < 2000 && !queue.is_idle(); ++i) {
      queue.tend(monotonic_ns());
      serve_ms(kLong_ms);
      if (!queue.is_idle()) ::usleep(10'000);
    }
  }
  void serve_ms(uint64_t most_ms) {
    children_.serve([this] { return queue.is_idle(); }, most_ms);
  }
  // Ends the writer as after its deadline.
  void pass_deadline() {
    children_.expire(monotonic_ns() +
                     2 * ReportQueue::kDeadline_ms * 1'000'000);
  }

 private:
  EventLoop loop_;
  BoundedChildren children_;

 public:
  TempDir directory;
  ReportQueue queue;
};

// Hangs for job 1 and writes the others.
Result<std::string> hang_for_job_1(const ReportedJob& job) {
  while (job.report.job_id == 1) ::pause();
  return write_report(job);
}

TEST_CASE("reports are written one after another") {
  Reports reports;
  CHECK(reports.queue.is_idle());
  for (uint32_t id : {1, 2, 3}) reports.queue.add(reports.job(id));
  CHECK_FALSE(reports.queue.is_idle());
  reports.finish();
  CHECK(reports.queue.is_idle());
  for (uint32_t id : {1, 2, 3}) CHECK(reports.has(id));
}

TEST_CASE("a packed report comes back as text") {
  std::string packed;
  Reports reports({.what = "packing a report",
                   .run = pack_reported,
                   .max_bytes = 2 * kMaxPackedBytes + 1,
                   .done = [&](const ReportedJob& job, const std::string& text) {
                     CHECK(job.report.job_id == 1);
                     packed = text;
                   }});
  reports.queue.add(reports.job(1, "name"));
  reports.finish();
  const auto bytes = from_hex(packed);
  REQUIRE(bytes);
  const auto report = unpack_report(*bytes);
  REQUIRE(report);
  CHECK(report->job_name == "name");
}

TEST_CASE("a job's newer report replaces one that waits") {
  Reports reports({.run = hang_for_job_1});
  reports.queue.add(reports.job(1));
  for (const char* name : {"first", "second"}) {
    reports.queue.add(reports.job(2, name));
  }
  reports.pass_deadline();
  reports.finish();
  CHECK_FALSE(reports.has(1));
  CHECK_THAT(reports.directory.read("2/n1.json"),
             Catch::Matchers::ContainsSubstring("second"));
}

TEST_CASE("a hung directory keeps one writer, and the others wait") {
  test::HungDirectory hung;
  if (!hung.is_there()) {
    WARN("skipped: needs root and /dev/fuse");
    return;
  }
  test::Logged log;
  Reports reports;
  const uint64_t begun_ns = monotonic_ns();
  reports.queue.add(Reports::job_in(hung.path(), 1));
  for (uint32_t id : {2, 3}) reports.queue.add(reports.job(id));
  reports.serve_ms(200);
  reports.pass_deadline();
  for (int second = 0; second < 3; ++second) {
    reports.queue.tend(monotonic_ns());
    reports.serve_ms(10);
  }
  CHECK(monotonic_ns() - begun_ns < kLong_ms * 1'000'000);
  CHECK_FALSE(reports.has(2));
  CHECK(log.count("job 1: report: writing a report: not done within") == 1);
  CHECK(log.count("2 reports wait to be written: writing a report: the last "
                  "try still hangs") == 1);
  hung.answer();
  reports.finish();
  CHECK(reports.has(2));
  CHECK(reports.has(3));
}

TEST_CASE("reports that do not fit are dropped, and logged once a minute") {
  test::Logged log;
  Reports reports({.run = hang_for_job_1});
  reports.queue.add(reports.job(1));
  const auto drop = [&](size_t count) {
    for (size_t i = 0; i < count; ++i) {
      reports.queue.add(reports.job(uint32_t(10'000 + i)));
    }
  };
  for (size_t i = 0; i < ReportQueue::kMaxWaiting; ++i) {
    reports.queue.add(reports.job(uint32_t(2 + i)));
  }
  const uint64_t now_ns = monotonic_ns();
  reports.queue.tend(now_ns);
  CHECK(log.count("reports are lost") == 0);
  drop(3);
  reports.queue.tend(now_ns);
  CHECK(log.count("3 reports are lost") == 1);
  drop(2);
  reports.queue.tend(now_ns + kSecond_ns);
  CHECK(log.count("reports are lost") == 1);
  reports.queue.tend(now_ns + ReportQueue::kDropsLogged_ns);
  CHECK(log.count("2 reports are lost") == 1);
}

TEST_CASE("a report waits if no writer can be started") {
  test::Logged log;
  Reports reports;
  const ReportedJob job = reports.job(1);
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const rlimit none{0, limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  reports.queue.add(job);
  reports.queue.tend(monotonic_ns());
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  CHECK_FALSE(reports.queue.is_idle());
  CHECK(log.count("1 reports wait to be written: pipe: ") == 1);
  reports.finish();
  CHECK(reports.has(1));
}

TEST_CASE("a failed write is logged with the job and the directory") {
  test::Logged log;
  Reports reports;
  reports.queue.add(Reports::job_in("/nonexistent", 7));
  reports.finish();
  CHECK(reports.queue.is_idle());
  CHECK(log.count("job 7: report: /nonexistent: No such file") == 1);
}

}  // namespace
}  // namespace penstock
