#include "node_agent/trainer_delay.h"

#include <fcntl.h>

#include "node_agent/job.h"
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"

using namespace penstock;

namespace {

struct Fixture {
  Fixture() {
    for (pid_t pid : {100, 101, 102}) tasks[100].processes.insert(pid);
    Unit worker{.id = 102, .pid = 102, .in_order = true};
    tasks[100].units.push_back(std::move(worker));
  }
  void spend(pid_t pid, uint64_t wait_ms) {
    waited_ms[pid] += wait_ms;
    files.write(std::to_string(pid) + "/schedstat",
                "5 " + std::to_string(waited_ms[pid] * 1'000'000) + " 1\n");
  }
  double lap_s() { return delay.lap_s(proc, tasks); }

  TempDir files;
  ProcReader proc{UniqueFd(
      ::open(files.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC))};
  std::map<pid_t, uint64_t> waited_ms;
  std::map<pid_t, Task> tasks;
  TrainerDelay delay;
};

}  // namespace

TEST_CASE("the longest wait of a task's trainer processes counts") {
  Fixture f;
  for (pid_t pid : {100, 101, 102}) f.spend(pid, 5000);
  CHECK(f.lap_s() == 0);  // a baseline first
  f.spend(100, 20);
  f.spend(101, 400);
  f.spend(102, 900);  // a loader
  CHECK(f.lap_s() == Approx(0.4));
  CHECK(f.lap_s() == 0);
}

TEST_CASE(
    "the delay is the mean of the tasks, and a reused pid starts a new "
    "baseline") {
  Fixture f;
  f.tasks[200].processes.insert(200);
  for (pid_t pid : {100, 101, 200}) f.spend(pid, 5000);
  f.lap_s();
  f.spend(100, 100);
  f.spend(200, 200);
  CHECK(f.lap_s() == Approx(0.15));
  f.waited_ms[200] = 0;
  f.spend(200, 70);
  CHECK(f.lap_s() == 0);
  f.spend(200, 70);
  CHECK(f.lap_s() == Approx(0.035));
}

TEST_CASE(
    "a batch script that waits for its steps does not count as a trainer") {
  Fixture f;
  f.tasks[200].processes.insert(200);
  f.tasks[200].start.step_id = kBatchStep;
  for (pid_t pid : {100, 101, 200}) f.spend(pid, 5000);
  f.lap_s();
  f.spend(100, 100);
  CHECK(f.lap_s() == Approx(0.1));
}

TEST_CASE("a batch script without steps counts as a trainer") {
  Fixture f;
  f.tasks[100].start.step_id = kBatchStep;
  for (pid_t pid : {100, 101}) f.spend(pid, 5000);
  f.lap_s();
  f.spend(100, 100);
  CHECK(f.lap_s() == Approx(0.1));
}

TEST_CASE("a trainer that waits half of its time needs twice its cores") {
  CHECK(crowded_cores(0.5, 0.5) == Approx(0.5));
  CHECK(crowded_cores(0.1, 0.25) == Approx(0.1 / 3));
  CHECK(crowded_cores(0.5, 0) == 0);
  CHECK(crowded_cores(0.05, 1) == Approx(0.45));  // capped at a delay of 90%
}
