#include "libpenstock/include/penstock.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>

#include "common/clock.h"
#include "tests/unit/catch.h"
#include "tests/unit/libpenstock/fake_daemon.h"

using penstock::test::eventually;
using penstock::test::FakeDaemon;
using penstock::test::Reply;
using penstock::test::SocketFolder;

namespace {

// Closes at the end of the test.
struct Handle {
  explicit Handle(const std::string& path) : it(penstock_open(path.c_str())) {}
  ~Handle() { penstock_close(it); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator penstock_handle*() const { return it; }
  penstock_handle* it;
};

double seconds_of(auto action) {
  const auto begin = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

// Reports until penstockd's page shows it; each report also works on the
// connection.
bool reports_arrive(penstock_handle* handle, FakeDaemon& daemon,
                    uint64_t samples) {
  const penstock_progress progress{samples, 2, 3, 4, 5, 6, 7, 1, 8};
  return eventually([&] {
    penstock_report(handle, &progress);
    return daemon.connections() > 0 && penstock_connected(handle) == 1 &&
           daemon.progress()->samples == samples;
  });
}

size_t open_descriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("without penstockd everything is a no-op") {
  const SocketFolder folder;
  const Handle handle(folder.path());
  REQUIRE(handle.it != nullptr);
  const penstock_progress progress{1, 1};
  penstock_report(handle, &progress);
  penstock_hint hint{};
  CHECK(penstock_connected(handle) == 0);
  CHECK(penstock_read_hint(handle, &hint) == 0);
  CHECK(penstock_register_thread(handle, 0) == 0);
  CHECK(penstock_unregister_thread(handle, 0) == 0);
  CHECK(penstock_register_thread(handle, -1) == EINVAL);
}

TEST_CASE("a null handle is a no-op") {
  const penstock_progress progress{};
  penstock_report(nullptr, &progress);
  CHECK(penstock_connected(nullptr) == 0);
  CHECK(penstock_read_hint(nullptr, nullptr) == 0);
  CHECK(penstock_register_thread(nullptr, 1) == 0);
  penstock_close(nullptr);
}

TEST_CASE("a path that is too long for a socket gives an unconnected handle") {
  const Handle handle(std::string(200, 'x'));
  CHECK(penstock_connected(handle) == 0);
}

TEST_CASE("without a path PENSTOCK_SOCKET gives it") {
  const SocketFolder folder;
  const FakeDaemon daemon(folder.path(), Reply::kGood);
  setenv("PENSTOCK_SOCKET", folder.path().c_str(), 1);
  penstock_handle* handle = penstock_open(nullptr);
  unsetenv("PENSTOCK_SOCKET");
  CHECK(penstock_connected(handle) == 1);
  penstock_close(handle);
}

TEST_CASE("reports and hints go through the pages") {
  const SocketFolder folder;
  FakeDaemon daemon(folder.path(), Reply::kGood);
  const Handle handle(folder.path());
  REQUIRE(penstock_connected(handle) == 1);
  const penstock_progress progress{11, 12, 13, 14, 15, 16, 17, 1, 18, 7, 19};
  penstock_report(handle, &progress);
  const penstock_progress_page* page = daemon.progress();
  CHECK(page->magic == PENSTOCK_PROGRESS_MAGIC);
  CHECK(page->version == PENSTOCK_PAGE_VERSION);
  CHECK(page->samples == 11);
  CHECK(page->steps == 12);
  CHECK(page->wait_ns == 13);
  CHECK(page->bytes == 14);
  CHECK(page->fetch_ns == 15);
  CHECK(page->prep_ns == 16);
  CHECK(page->prepared == 17);
  CHECK(page->replaying == 1);
  CHECK(page->loader_threads == 18);
  CHECK(page->follows_hint == 1);
  CHECK(page->exchange_ns == 19);
  CHECK(page->started_ns > 0);
  CHECK(page->updated_ns >= page->started_ns);

  penstock_hint hint{};
  REQUIRE(penstock_read_hint(handle, &hint) == 1);
  CHECK(hint.loader_threads == 3);
  CHECK(hint.grant_version == 4);
  CHECK(hint.granted_millicores == 1500);
  CHECK(hint.rate_bytes_per_s == 600);
  CHECK(hint.kernel_limited == 0);
}

TEST_CASE("samples, wait and time are those of the last consumed batch") {
  const SocketFolder folder;
  FakeDaemon daemon(folder.path(), Reply::kGood);
  const Handle handle(folder.path());
  const penstock_progress_page* page = daemon.progress();
  penstock_progress progress{.wait_ns = 5, .loader_threads = 1};
  penstock_report(handle, &progress);  // the first report sets the baseline
  const uint64_t begun_ns = page->updated_ns;
  CHECK(begun_ns >= page->started_ns);
  CHECK(page->wait_ns == 5);

  progress.wait_ns = 100;
  progress.exchange_ns = 60;
  progress.bytes = 7;
  progress.prepared = 8;
  progress.loader_threads = 3;
  progress.follows_hint = 1;
  progress.replaying = 1;
  penstock_report(handle, &progress);  // still waits
  CHECK(page->updated_ns == begun_ns);
  CHECK(page->wait_ns == 5);
  CHECK(page->bytes == 7);
  CHECK(page->prepared == 8);
  CHECK(page->loader_threads == 3);
  CHECK(page->follows_hint == 1);
  CHECK(page->replaying == 1);

  SECTION("samples grow") { progress.samples = 32; }
  SECTION("steps alone grow") { progress.steps = 1; }
  progress.wait_ns = 200;
  penstock_report(handle, &progress);
  CHECK(page->updated_ns > begun_ns);
  CHECK(page->wait_ns == 200);
  CHECK(page->exchange_ns == 60);
}

TEST_CASE(
    "a run delay is published with the next batch, and added for a successor") {
  const SocketFolder folder;
  FakeDaemon daemon(folder.path(), Reply::kGood);
  const penstock_progress_page* page = nullptr;
  {
    const Handle first(folder.path());
    penstock_progress progress{.samples = 10, .delay_ns = 5};
    penstock_report(first, &progress);
    page = daemon.progress();
    CHECK(page->delay_ns == 5);
    progress.delay_ns = 8;
    penstock_report(first, &progress);
    CHECK(page->delay_ns == 5);
    progress.samples = 20;
    penstock_report(first, &progress);
    CHECK(page->delay_ns == 8);
  }
  const Handle second(folder.path());
  const penstock_progress progress{.samples = 1, .delay_ns = 2};
  penstock_report(second, &progress);
  CHECK(page->delay_ns == 10);
}

TEST_CASE("a successor without a batch keeps its predecessor's times") {
  const SocketFolder folder;
  FakeDaemon daemon(folder.path(), Reply::kGood);
  {
    const Handle first(folder.path());
    const penstock_progress progress{10, 1, 30};
    penstock_report(first, &progress);
  }
  const penstock_progress_page* page = daemon.progress();
  const uint64_t updated_ns = page->updated_ns;
  const Handle second(folder.path());
  const penstock_progress progress{.wait_ns = 9, .loader_threads = 2};
  penstock_report(second, &progress);
  CHECK(page->updated_ns == updated_ns);
  CHECK(page->wait_ns == 30);
  CHECK(page->loader_threads == 2);
}

TEST_CASE("a hint is refused while it is written, or out of range") {
  const SocketFolder folder;
  FakeDaemon daemon(folder.path(), Reply::kGood);
  const Handle handle(folder.path());
  penstock_hint hint{};
  const penstock_hint untouched = hint;
  SECTION("odd sequence") { daemon.hint()->sequence = 3; }
  SECTION("no thread") { daemon.hint()->loader_threads = 0; }
  SECTION("too many threads") { daemon.hint()->loader_threads = 4097; }
  SECTION("magic gone") { daemon.hint()->magic = 0; }
  CHECK(penstock_read_hint(handle, &hint) == 0);
  CHECK(hint.loader_threads == untouched.loader_threads);
}

TEST_CASE("invalid replies and pages are refused, and no descriptor leaks") {
  const Reply reply =
      GENERATE(Reply::kHangsUp, Reply::kGarbage, Reply::kShort,
               Reply::kErrorStatus, Reply::kNoPages, Reply::kOnePage,
               Reply::kThreePages, Reply::kSwappedPages, Reply::kSmallPages,
               Reply::kLargePages, Reply::kUnsealedPages, Reply::kWrongMagic,
               Reply::kWrongVersion, Reply::kPipes);
  CAPTURE(static_cast<int>(reply));
  const SocketFolder folder;
  const size_t before = open_descriptors();
  {
    const FakeDaemon daemon(folder.path(), reply);
    const Handle handle(folder.path());
    CHECK(penstock_connected(handle) == 0);
    const penstock_progress progress{1, 1};
    penstock_report(handle, &progress);
    penstock_hint hint{};
    CHECK(penstock_read_hint(handle, &hint) == 0);
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("a penstockd that does not answer costs 100 ms once") {
  const SocketFolder folder;
  const FakeDaemon daemon(folder.path(), Reply::kSilent);
  penstock_handle* handle = nullptr;
  const double open_s =
      seconds_of([&] { handle = penstock_open(folder.path().c_str()); });
  CHECK(open_s >= 0.09);
  CHECK(open_s < 2);  // the machine may be busy
  const penstock_progress progress{1, 1};
  const double report_s = seconds_of([&] {
    for (int i = 0; i < 1000; ++i) penstock_report(handle, &progress);
  });
  CHECK(report_s < 2);  // 100 s if each one waited again
  penstock_close(handle);
}

TEST_CASE("a restarted penstockd gets the counters and the threads once more") {
  const SocketFolder folder;
  std::optional<FakeDaemon> daemon;
  daemon.emplace(folder.path(), Reply::kGood);
  const Handle handle(folder.path());
  penstock_register_thread(handle, 101);
  penstock_register_thread(handle, 102);
  penstock_unregister_thread(handle, 101);
  const auto has = [&](const std::map<int32_t, bool>& threads) {
    return eventually([&] { return daemon->threads() == threads; });
  };
  REQUIRE(has({{101, false}, {102, true}}));
  REQUIRE(reports_arrive(handle, *daemon, 50));
  const uint64_t started_ns = daemon->progress()->started_ns;

  daemon.reset();
  CHECK(eventually([&] { return penstock_connected(handle) == 0; }));
  penstock_register_thread(handle, 103);
  daemon.emplace(folder.path(), Reply::kGood);
  // Before any report: the connection alone brings the counters.
  CHECK(eventually([&] { return penstock_connected(handle) == 1; }));
  CHECK(daemon->progress()->samples == 50);
  CHECK(daemon->progress()->started_ns == started_ns);
  REQUIRE(reports_arrive(handle, *daemon, 60));
  CHECK(has({{102, true}, {103, true}}));
}

TEST_CASE("a penstockd that starts later is found") {
  const SocketFolder folder;
  const Handle handle(folder.path());
  penstock_register_thread(handle, 7);
  FakeDaemon daemon(folder.path(), Reply::kGood);
  CHECK(reports_arrive(handle, daemon, 5));
  CHECK(eventually([&] { return daemon.threads().count(7) == 1; }));
}

TEST_CASE("a task's next process continues the counters of the previous one") {
  const SocketFolder folder;
  FakeDaemon daemon(folder.path(), Reply::kGood);
  uint64_t started_ns = 0;
  {
    const Handle first(folder.path());
    const penstock_progress progress{10, 20, 30, 40, 50, 60, 70, 0, 0, 0, 80};
    penstock_report(first, &progress);
    started_ns = daemon.progress()->started_ns;
  }
  const Handle second(folder.path());
  const penstock_progress_page* page = daemon.progress();
  CHECK(page->samples == 10);
  const penstock_progress progress{1, 2, 3, 4, 5, 6, 7, 0, 0, 0, 8};
  penstock_report(second, &progress);
  CHECK(page->samples == 11);
  CHECK(page->steps == 22);
  CHECK(page->wait_ns == 33);
  CHECK(page->bytes == 44);
  CHECK(page->fetch_ns == 55);
  CHECK(page->prep_ns == 66);
  CHECK(page->prepared == 77);
  CHECK(page->exchange_ns == 88);
  CHECK(page->started_ns == started_ns);
  CHECK(page->updated_ns > started_ns);
}

TEST_CASE("a page with a wrong magic is refused") {
  const SocketFolder folder;
  FakeDaemon daemon(folder.path(), Reply::kGood);
  { const Handle first(folder.path()); }
  daemon.progress()->magic = 1;
  const Handle second(folder.path());
  CHECK(penstock_connected(second) == 0);
}

TEST_CASE("reports and hints from two threads work while penstockd restarts") {
  const SocketFolder folder;
  const Handle handle(folder.path());
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::atomic<int> right{0};
  std::thread reader([&] {
    while (!done) {
      penstock_hint hint{};
      if (penstock_read_hint(handle, &hint) == 0) continue;
      ++(hint.loader_threads == 3 ? right : wrong);
    }
  });
  for (uint64_t round = 1; round <= 2; ++round) {
    FakeDaemon daemon(folder.path(), Reply::kGood);
    CHECK(reports_arrive(handle, daemon, round));
  }
  done = true;
  reader.join();
  CHECK(wrong == 0);
  CHECK(right > 0);
}

TEST_CASE("writing to an ended penstockd raises no SIGPIPE") {
  std::signal(SIGPIPE, SIG_DFL);
  const SocketFolder folder;
  std::optional<FakeDaemon> daemon;
  daemon.emplace(folder.path(), Reply::kGood);
  const Handle handle(folder.path());
  REQUIRE(penstock_connected(handle) == 1);
  daemon.reset();
  CHECK(penstock_register_thread(handle, 5) == 0);
}

TEST_CASE("a forked child cannot use its parent's handle") {
  const SocketFolder folder;
  FakeDaemon daemon(folder.path(), Reply::kGood);
  const SocketFolder childs_folder;
  const FakeDaemon childs_daemon(childs_folder.path(), Reply::kGood);
  const Handle handle(folder.path());
  REQUIRE(reports_arrive(handle, daemon, 40));
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const penstock_progress progress{99, 99};
    penstock_report(handle, &progress);
    penstock_hint hint;
    const bool refused = penstock_connected(handle) == 0 &&
                         penstock_read_hint(handle, &hint) == 0 &&
                         penstock_register_thread(handle, 5) == ECHILD;
    penstock_close(handle);
    penstock_handle* own = penstock_open(childs_folder.path().c_str());
    _exit(refused && penstock_connected(own) == 1 ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(daemon.progress()->samples == 40);
  CHECK(daemon.threads().empty());
  CHECK(reports_arrive(handle, daemon, 41));
}

TEST_CASE("registrations beyond PENSTOCK_MAX_THREADS are refused") {
  const SocketFolder folder;
  const Handle handle(folder.path());
  for (int tid = 1; tid <= PENSTOCK_MAX_THREADS; ++tid) {
    REQUIRE(penstock_register_thread(handle, tid) == 0);
  }
  CHECK(penstock_register_thread(handle, 100000) == ENOSPC);
  CHECK(penstock_register_thread(handle, 1) == 0);  // known already
  CHECK(penstock_unregister_thread(handle, 17) == 0);
  CHECK(penstock_register_thread(handle, 100000) == 0);
}

TEST_CASE("a report costs less than 2 us of CPU time") {
  const SocketFolder folder;
  const FakeDaemon daemon(folder.path(), Reply::kGood);
  const Handle handle(folder.path());
  constexpr int kReports = 100000;
  const penstock_progress progress{1, 1};
  const uint64_t begin_ns = penstock::read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
  for (int i = 0; i < kReports; ++i) penstock_report(handle, &progress);
  const uint64_t cpu_ns =
      penstock::read_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
  CHECK(cpu_ns / kReports < 2000);  // also in a debug build with sanitizers
}
