// A job that is killed, or stopped, at every step of the protocol: the other
// one has each sample once an epoch all the same, and waits no longer than it
// may.
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

// Those that every job comes to.
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
// Those that one comes to who gets past a job that reads on and on.
constexpr const char* kPassingPoints[] = {"looked for the blocking jobs",
                                          "putting out", "has put out",
                                          "found it held"};
// Those that one comes to who prepares what another one has begun.
constexpr const char* kSparePoints[] = {"looked at a spare",
                                        "looked where it is placed",
                                        "taking a spare", "has a spare"};

const char* fault = nullptr;  // the point at which this process ends
int fault_signal = 0;
std::atomic<const char*> waits_at{nullptr};  // it stops here once before
std::atomic<int> passes_left = 0;            // of it
// Before it ends it forks a process that lives on, and says its number here.
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

// As the library for such tests has it. To this thread: a process is stopped by
// its main thread, and the others go on for a while.
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

// Whether the job came to the step, and was killed there.
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

TEST_CASE("a job that is killed at any step leaves the rest to the other") {
  for (const char* point : kPoints) {
    CAPTURE(point);
    // On a busy machine a job may find everything prepared by the other one.
    bool is_killed = false;
    for (int tries = 0; tries < 10 && !is_killed; ++tries) {
      is_killed = kill_at(point, 0);
    }
    CHECK(is_killed);
    kill_at(point, 9);  // some steps a job takes once only
  }
}

TEST_CASE("a job that is stopped at any step holds the other up for a bound") {
  for (const char* point : kPoints) {
    for (const int passes : {0, 9}) {
      CAPTURE(point, passes);
      Killing test;
      Child child(test.fails_at(point, SIGSTOP, passes));
      const auto begin = std::chrono::steady_clock::now();
      CHECK(test.run("own", options_of(6)) == "");
      CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(8));
      CHECK(are_whole(read_epochs(test.folder.path("own")), kSamples));
      // It goes on, and has all of its epochs too.
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

// No job ends by its time alone.
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

TEST_CASE("a job that is killed while it puts another out leaves both") {
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

TEST_CASE("a job that is killed while it takes another's place leaves both") {
  for (const char* point : kSparePoints) {
    CAPTURE(point);
    Killing test;
    // It has a batch in any case, for the other one waits with its first.
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

TEST_CASE("a job that is killed while it drops a dead one leaves that, too") {
  Killing test;
  Child dead(test.fails_at("taken", SIGSTOP, 0, patient(), "dead"));
  Child child(test.fails_at("dropping a job", SIGKILL, 0, patient()));
  dead.wait_until_stopped();
  dead.kill();
  CHECK(child.wait() == 128 + SIGKILL);
  check_that_another_one_has_all(test);
}

TEST_CASE("a job that is killed while it gets the memory leaves that, too") {
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

TEST_CASE("without memory for a spare buffer a job goes on alone") {
  if (::geteuid() != 0) return;  // who may mount one
  Killing test;
  const std::string small = test.cache.base() + "/small";
  REQUIRE(::mkdir(small.c_str(), 0700) == 0);
  // Pages of the index, and of the window's three buffers.
  REQUIRE(::mount("penstock-test", small.c_str(), "tmpfs", 0, "size=28k") == 0);
  ::setenv("PENSTOCK_CACHE_DIR", small.c_str(), 1);
  {
    Child prepares(
        test.fails_at("prepared a sample", SIGSTOP, 0, patient(), "prepares"));
    // Two that begin at once have an index each, until one has the name.
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

// That one has the dead job's lock: it seems to be stopped. The other job waits
// before it claims its first batch, so that there is one to be claimed.
TEST_CASE("a job whose forked process lives on holds others up for a bound") {
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
    check_that_another_one_has_all(test);  // so does one that comes later
    ::kill(orphan, SIGKILL);
  }
}
