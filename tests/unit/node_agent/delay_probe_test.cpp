#include "node_agent/delay_probe.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "common/clock.h"
#include "node_agent/job.h"
#include "tests/unit/catch.h"

using namespace penstock;

namespace {

// Processes that compute, all on one CPU, until they go out of scope.
class Spinners {
 public:
  explicit Spinners(int count) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    for (int i = 0; i < count; ++i) {
      const pid_t pid = ::fork();
      if (pid == 0) {
        ::sched_setaffinity(0, sizeof one, &one);
        for (;;) {
        }
      }
      pids.push_back(pid);
    }
  }
  Spinners(const Spinners&) = delete;
  Spinners& operator=(const Spinners&) = delete;
  ~Spinners() {
    for (pid_t pid : pids) ::kill(pid, SIGKILL);
    for (pid_t pid : pids) ::waitpid(pid, nullptr, 0);
  }

  std::vector<pid_t> pids;
};

// Waits until the process has used used_ns of CPU time.
void wait_used(const ProcReader& proc, pid_t pid, uint64_t used_ns) {
  auto file = proc.open_schedstat(pid);
  REQUIRE(file);
  const uint64_t until_ns = monotonic_ns() + 20'000'000'000;
  while (monotonic_ns() < until_ns) {
    auto stat = file->read();
    REQUIRE(stat);
    if (stat->run_ns >= used_ns) return;
    ::usleep(1000);
  }
  FAIL("the spinner does not run");
}

// Before it sleeps, the process still starts and needs CPU time.
void wait_asleep(pid_t pid) {
  const uint64_t until_ns = monotonic_ns() + 20'000'000'000;
  while (monotonic_ns() < until_ns) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string number, name;
    char state = 0;
    file >> number >> name >> state;
    if (state == 'S') return;
    ::usleep(1000);
  }
  FAIL("it does not sleep");
}

}  // namespace

TEST_CASE("the first reading of a job gives no share") {
  auto proc = ProcReader::open();
  REQUIRE(proc);
  std::map<pid_t, Task> tasks;
  tasks[::getpid()].processes = {::getpid()};
  DelayProbe probe;
  CHECK_FALSE(probe.got_share(*proc, tasks));
}

TEST_CASE(
    "two busy processes on one CPU get about half of their demand or less") {
  auto proc = ProcReader::open();
  REQUIRE(proc);
  const Spinners spinners(2);
  std::map<pid_t, Task> tasks;
  tasks[spinners.pids[0]].processes = {spinners.pids[0], spinners.pids[1]};
  DelayProbe probe;
  wait_used(*proc, spinners.pids[0], 50'000'000);
  CHECK_FALSE(probe.got_share(*proc, tasks));
  wait_used(*proc, spinners.pids[0], 300'000'000);
  const auto share = probe.got_share(*proc, tasks);
  REQUIRE(share);
  // Other processes may use that CPU too, so there is no lower bound near 0.5.
  CHECK(*share < 0.6);
  CHECK(*share > 0.02);
}

TEST_CASE("a sleeping job gives no share") {
  auto proc = ProcReader::open();
  REQUIRE(proc);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::pause();
    ::_exit(0);
  }
  std::map<pid_t, Task> tasks;
  tasks[pid].processes = {pid};
  wait_asleep(pid);
  DelayProbe probe;
  CHECK_FALSE(probe.got_share(*proc, tasks));
  ::usleep(20'000);
  CHECK_FALSE(probe.got_share(*proc, tasks));
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}
