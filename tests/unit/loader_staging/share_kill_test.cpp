// A job killed or stopped at every step of the protocol: the other one still
// gets each sample once an epoch and waits at most its time-outs.
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <iostream>
#include <thread>

#include "loader/cache/fault_point.h"
#include "tests/unit/loader/pictures.h"
#include "tests/unit/loader_cache/cache_case.h"
#include "tests/unit/loader_cache/children.h"
#include "tests/unit/loader_staging/sharing.h"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr uint64_t kSamples = 11;
constexpr uint64_t kMs = 1'000'000;

// Fault points that every job passes.
constexpr const char* kPoints[] = {"reserving",
                                   "reserved",
                                   "entering",
                                   "looked for the newest",
                                   "entered",
                                   "looked at a job",
                                   "looked at the slot",
                                   "claiming",
                                   "claimed",
                                   "looked at the tag",
                                   "taking the buffer",
                                   "has the buffer",
                                   "prepared a sample",
                                   "finished",
                                   "published",
                                   "taking",
                                   "taken",
                                   "releasing",
                                   "holds nothing",
                                   "released",
                                   "leaving",
                                   "left"};
// Fault points of a job that excludes one that holds a batch too long.
constexpr const char* kPassingPoints[] = {"looked for the blocking jobs",
                                          "putting out", "has put out",
                                          "found it held"};
// Fault points of a job that takes over a batch of another one.
constexpr const char* kSparePoints[] = {"looked at a spare",
                                        "looked where it is placed",
                                        "taking a spare", "has a spare"};

const char* fault = nullptr;  // the point at which this process ends
int fault_signal = 0;
std::atomic<const char*> waits_at{nullptr};  // it stops here once first
std::atomic<int> passes_left = 0;            // times that `fault` is passed
// Before its end it forks a process that lives on, and writes its pid here.
int orphan_fd = -1;

void leave_orphan() {
  const pid_t orphan = ::fork();
  if (orphan != 0) {
    (void)!::write(orphan_fd, &orphan, sizeof orphan);
    return;
  }
  ::alarm(60);
  for (;;) ::pause();
}

}  // namespace

// The test build of the library calls this at its fault points. The signal goes
// to this thread: a process is stopped by its main thread, and other threads
// would continue for a while.
void penstock::fault_point(const char* name) {
  const char* wait = waits_at;
  if (wait != nullptr && std::strcmp(wait, name) == 0 &&
      waits_at.compare_exchange_strong(wait, nullptr)) {
    ::raise(SIGSTOP);
  }
  if (fault == nullptr || std::strcmp(fault, name) != 0) return;
  if (passes_left.fetch_sub(1) != 0) return;
  if (orphan_fd >= 0) leave_orphan();
  ::raise(fault_signal);
}

namespace {

SharedOptions options_of(uint64_t epochs) {
  SharedOptions options;
  options.name = "kill";
  options.batch_samples = 2;
  options.epochs = epochs;
  options.jobs = 2;
  options.window_batches = 3;
  options.spare_batches = 2;
  options.times = {150 * kMs, 200 * kMs, 2000 * kMs, 300 * kMs};
  return options;
}

struct Killing {
  CacheCase cache;
  TempFolder folder;
  std::shared_ptr<const Dataset> dataset =
      write_records(folder.path("records"), kSamples);

  std::string run(
      const std::string& name, const SharedOptions& options,
      const std::function<void()>& joined = [] {}) {
    return run_job(
        dataset, options, folder.path(name), [] { ::usleep(1000); }, joined);
  }
  Child::Work fails_at(const char* point, int signal, int passes,
                       const SharedOptions& options = options_of(6),
                       const std::string& name = "other") {
    return [=, this](const auto& done) {
      fault = point;
      fault_signal = signal;
      passes_left = passes;
      const std::string wrong = run(name, options, done);
      if (!wrong.empty()) {
        std::cerr << wrong << "\n";
        ::_exit(3);
      }
    };
  }
};

// Returns whether the job reached the step and was killed there.
bool kill_at(const char* point, int passes) {
  Killing test;
  Child child(test.fails_at(point, SIGKILL, passes));
  const auto begin = std::chrono::steady_clock::now();
  CHECK(test.run("own", options_of(6)) == "");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
  const Epochs own = read_epochs(test.folder.path("own"));
  CHECK(own.size() == 6);
  CHECK(are_whole(own, kSamples));
  const int status = child.wait();
  CHECK((status == 128 + SIGKILL || status == 0));
  CHECK(are_whole(read_epochs(test.folder.path("other")), kSamples));
  return status != 0;
}

}  // namespace

TEST_CASE("a job killed at any step leaves the rest to the other") {
  for (const char* point : kPoints) {
    CAPTURE(point);
    // On a busy machine the other job may have prepared everything.
    bool is_killed = false;
    for (int tries = 0; tries < 10 && !is_killed; ++tries) {
      is_killed = kill_at(point, 0);
    }
    CHECK(is_killed);
    kill_at(point, 9);  // some steps happen only once
  }
}

TEST_CASE("a job stopped at any step delays the other for a bounded time") {
  for (const char* point : kPoints) {
    for (const int passes : {0, 9}) {
      CAPTURE(point, passes);
      Killing test;
      Child child(test.fails_at(point, SIGSTOP, passes));
      const auto begin = std::chrono::steady_clock::now();
      CHECK(test.run("own", options_of(6)) == "");
      CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(8));
      CHECK(are_whole(read_epochs(test.folder.path("own")), kSamples));
      // It continues and gets all of its epochs too.
      for (int tries = 0; tries < 1000; ++tries) {
        ::kill(child.pid(), SIGCONT);
        siginfo_t info{};
        ::waitid(P_PID, id_t(child.pid()), &info, WEXITED | WNOHANG | WNOWAIT);
        if (info.si_pid != 0) break;
        ::usleep(10000);
      }
      CHECK(child.wait() == 0);
      const Epochs other = read_epochs(test.folder.path("other"));
      CHECK(other.size() == 6);
      CHECK(are_whole(other, kSamples));
    }
  }
}

namespace {

// Time-outs long enough that no job reaches them.
SharedOptions patient() {
  SharedOptions options = options_of(6);
  options.times = {20'000 * kMs, 20'000 * kMs, 60'000 * kMs, 20'000 * kMs};
  return options;
}

SharedOptions gathered() {
  SharedOptions options = options_of(6);
  options.times.gather_ns = 20'000 * kMs;
  return options;
}

void check_that_another_one_has_all(Killing& test) {
  CHECK(test.run("own", options_of(6)) == "");
  const Epochs own = read_epochs(test.folder.path("own"));
  CHECK(own.size() == 6);
  CHECK(are_whole(own, kSamples));
}

}  // namespace

TEST_CASE(
    "after a job is killed while it excludes another, a third gets all "
    "batches") {
  for (const char* point : kPassingPoints) {
    CAPTURE(point);
    Killing test;
    Child reads(test.fails_at("taken", SIGSTOP, 0, patient(), "reads"));
    Child child(test.fails_at(point, SIGKILL, 0, gathered()));
    CHECK(child.wait() == 128 + SIGKILL);
    check_that_another_one_has_all(test);
    reads.kill();
  }
}

TEST_CASE(
    "after a job is killed while it takes over a batch, a third gets all "
    "batches") {
  for (const char* point : kSparePoints) {
    CAPTURE(point);
    Killing test;
    // It always gets a batch, because the other job waits before its first.
    Child prepares(
        test.fails_at("prepared a sample", SIGSTOP, 0, patient(), "prepares"));
    Child child([&](const auto& done) {
      waits_at = "claiming";
      test.fails_at(point, SIGKILL, 0, gathered())(done);
    });
    child.wait_until_stopped();
    prepares.wait_until_stopped();
    child.go_on();
    CHECK(child.wait() == 128 + SIGKILL);
    check_that_another_one_has_all(test);
    prepares.kill();
  }
}

TEST_CASE(
    "after a job is killed while it drops a dead one, a third gets all "
    "batches") {
  Killing test;
  Child dead(test.fails_at("taken", SIGSTOP, 0, patient(), "dead"));
  Child child(test.fails_at("dropping a job", SIGKILL, 0, patient()));
  dead.wait_until_stopped();
  dead.kill();
  CHECK(child.wait() == 128 + SIGKILL);
  check_that_another_one_has_all(test);
}

TEST_CASE("a job killed while it allocates the memory leaves it to the other") {
  Killing test;
  Child child(test.fails_at("has a name", SIGSTOP, 0));
  child.wait_until_stopped();
  std::thread killer([&] {
    ::usleep(200'000);
    ::kill(child.pid(), SIGKILL);
  });
  CHECK(test.run("own", options_of(3)) == "");
  killer.join();
  CHECK(are_whole(read_epochs(test.folder.path("own")), kSamples));
}

TEST_CASE("without memory for a spare buffer a job continues alone") {
  if (::geteuid() != 0) return;  // only root can mount
  Killing test;
  const std::string small = test.cache.base() + "/small";
  REQUIRE(::mkdir(small.c_str(), 0700) == 0);
  // Room for the index and the window's three buffers only.
  REQUIRE(::mount("penstock-test", small.c_str(), "tmpfs", 0, "size=28k") == 0);
  ::setenv("PENSTOCK_CACHE_DIR", small.c_str(), 1);
  {
    Child prepares(
        test.fails_at("prepared a sample", SIGSTOP, 0, patient(), "prepares"));
    // Two jobs that start at once have an index each until one gets the name.
    REQUIRE(prepares.wait_until_done());
    const auto begin = std::chrono::steady_clock::now();
    CHECK(test.run("own", options_of(2)) == "");
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(12));
    const Epochs own = read_epochs(test.folder.path("own"));
    CHECK(own.size() == 2);
    CHECK(are_whole(own, kSamples));
    prepares.wait_until_stopped();
    prepares.kill();
  }
  ::umount2(small.c_str(), MNT_DETACH);
}

// The forked process holds the dead job's lock, so the job seems to be stopped.
// The other job waits before its first claim, which leaves a batch to claim.
TEST_CASE(
    "a dead job with a living forked process delays others for a bounded "
    "time") {
  for (const char* point : {"entered", "claimed", "taken"}) {
    CAPTURE(point);
    Killing test;
    int numbers[2];
    REQUIRE(::pipe(numbers) == 0);
    orphan_fd = numbers[1];
    Child child(test.fails_at(point, SIGKILL, 0, patient()));
    orphan_fd = -1;
    ::close(numbers[1]);
    Child own([&](const auto& done) {
      waits_at = "claiming";
      if (!test.run("own", gathered(), done).empty()) ::_exit(3);
    });
    own.wait_until_stopped();
    CHECK(child.wait() == 128 + SIGKILL);
    pid_t orphan = 0;
    REQUIRE(::read(numbers[0], &orphan, sizeof orphan) == sizeof orphan);
    ::close(numbers[0]);
    const auto begin = std::chrono::steady_clock::now();
    own.go_on();
    CHECK(own.wait() == 0);
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(8));
    const Epochs epochs = read_epochs(test.folder.path("own"));
    CHECK(epochs.size() == 6);
    CHECK(are_whole(epochs, kSamples));
    check_that_another_one_has_all(test);  // a later job gets everything too
    ::kill(orphan, SIGKILL);
  }
}
