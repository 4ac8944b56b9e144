// A job that is killed, or stopped, at every step of the protocol: the other
// one has each sample once an epoch all the same, and waits no longer than it
// may.
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
// Those that one comes to who takes another's place.
constexpr const char* kRescuePoints[] = {
    "dropping a job",    "putting out",
    "has put out",       "looked at who is in the way",
    "looked at a spare", "looked where it is placed",
    "taking a spare",    "has a spare",
    "found it held"};

const char* fault = nullptr;  // the point at which this process ends
int fault_signal = 0;
std::atomic<int> passes_left = 0;  // of it

}  // namespace

// As the library for such tests has it.
void penstock::fault_point(const char* name) {
  if (fault == nullptr || std::strcmp(fault, name) != 0) return;
  if (passes_left.fetch_sub(1) == 0) ::kill(::getpid(), fault_signal);
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

}  // namespace

TEST_CASE("a job that is killed at any step leaves the rest to the other") {
  for (const char* point : kPoints) {
    for (const int passes : {0, 9}) {
      CAPTURE(point, passes);
      Killing test;
      Child child(test.fails_at(point, SIGKILL, passes));
      const auto begin = std::chrono::steady_clock::now();
      CHECK(test.run("own", options_of(6)) == "");
      CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
      const Epochs own = read_epochs(test.folder.path("own"));
      CHECK(own.size() == 6);
      CHECK(are_whole(own, kSamples));
      const int status = child.wait();
      // Some steps a job takes once only.
      CHECK((status == 128 + SIGKILL || (passes > 0 && status == 0)));
      CHECK(are_whole(read_epochs(test.folder.path("other")), kSamples));
    }
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

// Four begin together. One is stopped while it prepares a batch, another one
// while it reads one, one is killed; so the last one has to step in for all of
// them, and ends in the middle of that. Then a fifth one comes. False: the last
// one did not come to the point, as another one did before it was stopped.
bool ends_where_it_steps_in(const char* point) {
  Killing test;
  SharedOptions together = options_of(6);
  together.jobs = 4;
  together.times.gather_ns = 20'000 * kMs;
  const auto fails_at = [&](const char* where, int signal, int passes) {
    return test.fails_at(where, signal, passes, together, where);
  };
  Child prepares(fails_at("prepared a sample", SIGSTOP, 2));
  Child reads(fails_at("taken", SIGSTOP, 2));
  Child dead(fails_at("claimed", SIGKILL, 1));
  Child child(fails_at(point, SIGKILL, 0));
  const int status = child.wait();
  CHECK((status == 0 || status == 128 + SIGKILL));
  CHECK(dead.wait() == 128 + SIGKILL);
  CHECK(test.run("own", options_of(6)) == "");
  const Epochs own = read_epochs(test.folder.path("own"));
  CHECK(own.size() == 6);
  CHECK(are_whole(own, kSamples));
  prepares.kill();
  reads.kill();
  return status != 0;
}

}  // namespace

TEST_CASE("a job that is killed while it takes another's place leaves both") {
  for (const char* point : kRescuePoints) {
    CAPTURE(point);
    int tries = 1;
    while (!ends_where_it_steps_in(point) && tries < 5) ++tries;
    CHECK(tries < 5);
  }
}

TEST_CASE("a job that is killed while it gets the memory leaves that, too") {
  Killing test;
  Child child(test.fails_at("has a name", SIGSTOP, 0));
  int status = 0;
  REQUIRE(::waitpid(child.pid(), &status, WUNTRACED) == child.pid());
  REQUIRE(WIFSTOPPED(status));
  std::thread killer([&] {
    ::usleep(200'000);
    ::kill(child.pid(), SIGKILL);
  });
  CHECK(test.run("own", options_of(3)) == "");
  killer.join();
  CHECK(are_whole(read_epochs(test.folder.path("own")), kSamples));
}
