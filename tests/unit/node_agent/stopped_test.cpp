#include "node_agent/stopped.h"

#include "cgroup/v2_backend.h"
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/fake_unified.h"

using namespace penstock;

namespace {

// Two tasks, 100 and 200; 100 has a worker, 101.
struct Fixture {
  Fixture() {
    for (pid_t pid : {100, 101, 200}) {
      machine.start(pid, pid, group, CpuSet({0, 1}));
    }
    job.tasks[100].processes = {100, 101};
    job.tasks[200];  // not scanned yet
  }
  void stop(std::initializer_list<pid_t> pids) {
    for (pid_t pid : pids) machine.set_state(pid, 'T');
  }
  bool stopped() const { return is_stopped(machine.proc(), backend, job); }

  FakeUnified machine;
  std::string group = machine.make_task("job_7", "step_0", 0, "0-1");
  V2Backend backend = std::move(
      *V2Backend::create(machine.fs(), machine.proc(), machine.sched(), {}));
  Job job;
};

}  // namespace

TEST_CASE("a job is stopped when all its processes are") {
  Fixture f;
  CHECK_FALSE(f.stopped());
  f.stop({100, 200});
  CHECK_FALSE(f.stopped());
  f.stop({101});
  CHECK(f.stopped());
  f.machine.set_state(200, 'R');
  CHECK_FALSE(f.stopped());
}

// scontrol suspend sends a signal to a step's first processes only.
TEST_CASE("a frozen job counts as stopped in any state of its processes") {
  Fixture f;
  f.stop({100, 200});
  f.machine.set_frozen(f.group, true);
  CHECK(f.stopped());
  f.machine.set_frozen(f.group, false);
  CHECK_FALSE(f.stopped());
}

TEST_CASE("processes that have ended do not count") {
  Fixture f;
  f.stop({100, 200});
  SECTION("removed from /proc") { f.machine.end(101); }
  SECTION("zombies") { f.machine.set_state(101, 'Z'); }
  CHECK(f.stopped());
}

TEST_CASE("a job without processes is not stopped") {
  Fixture f;
  for (pid_t pid : {100, 101, 200}) f.machine.end(pid);
  CHECK_FALSE(f.stopped());
}

TEST_CASE("a traced process does not count as stopped") {
  Fixture f;
  f.stop({101, 200});
  f.machine.set_state(100, 't');
  CHECK_FALSE(f.stopped());
}
