#include "loader/train/run_delay.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/unit/catch.h"

using namespace penstock;

namespace {

// Keeps the thread on one CPU, beside a process that computes there.
struct Crowded {
  Crowded() {
    ::sched_getaffinity(0, sizeof before, &before);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &before)) CPU_SET(cpu, &one);
    }
    REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
    rival = ::fork();
    if (rival == 0) {
      for (;;) {
      }
    }
  }
  ~Crowded() {
    ::kill(rival, SIGKILL);
    ::waitpid(rival, nullptr, 0);
    ::sched_setaffinity(0, sizeof before, &before);
  }

  cpu_set_t before;
  pid_t rival = -1;
};

// Uses 0.3 s of CPU time; returns the elapsed seconds.
double compute() {
  const uint64_t begin_ns = monotonic_ns();
  const uint64_t end_ns = thread_cpu_ns() + 300'000'000;
  while (thread_cpu_ns() < end_ns) {
  }
  return double(monotonic_ns() - begin_ns) * 1e-9;
}

}  // namespace

TEST_CASE("a lap is the time for which the thread waited for its CPU") {
  const Crowded crowded;
  RunDelay delay;
  const double wall_s = compute();
  const double lap_s = double(delay.lap_ns()) * 1e-9;
  CHECK(lap_s > 0.1);
  // Time taken by the hypervisor does not count as delay.
  CHECK(lap_s <= wall_s - 0.3 + 0.02);
}

TEST_CASE("sleep does not count as delay") {
  RunDelay delay;
  const uint64_t begin_ns = monotonic_ns();
  const timespec time{0, 200'000'000};
  ::nanosleep(&time, nullptr);
  const uint64_t slept_ns = monotonic_ns() - begin_ns;
  CHECK(delay.lap_ns() <= slept_ns - 100'000'000);
}
