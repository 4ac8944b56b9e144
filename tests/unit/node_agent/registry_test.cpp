#include "node_agent/registry.h"

#include <unistd.h>

#include "cgroup/v2_backend.h"
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/fake_unified.h"

using namespace penstock;

namespace {

// A machine whose only living process is this one: a task needs a pidfd.
struct Node {
  Node() {
    machine.start(pid, pid, machine.make_task("job_7", "step_0", 0, "0"),
                  CpuSet{{0}});
  }
  Task& add(JobId job) {
    penstock_task_start start{};
    start.job_id = job;
    start.pid = pid;
    return **registry.add(start, *backend.home_of(TaskId{pid, 0}));
  }

  pid_t pid = ::getpid();
  FakeUnified machine;
  V2Backend backend =
      *V2Backend::create(machine.fs(), machine.proc(), machine.sched(), {});
  Registry registry{machine.proc(), backend};
};

}  // namespace

TEST_CASE("the owner of a process is known from its start to the task's end") {
  Node node;
  Registry& registry = node.registry;
  CHECK(registry.known_owner(node.pid).job == nullptr);
  Task& task = node.add(7);
  Job* job = registry.find_job(7);
  REQUIRE(job != nullptr);
  CHECK(registry.known_owner(node.pid).job == job);
  CHECK(registry.known_owner(node.pid).task == &task);

  registry.note_process(100, {job, &task});
  CHECK(registry.known_owner(100).task == &task);
  const std::set<pid_t> before = task.processes;
  task.processes = {node.pid, 101};  // as a scan found them
  registry.note_scan({job, &task}, before);
  CHECK(registry.known_owner(100).job == nullptr);
  CHECK(registry.known_owner(101).task == &task);

  registry.remove_task(7, node.pid);
  CHECK(registry.known_owner(node.pid).job == nullptr);
  CHECK(registry.known_owner(101).job == nullptr);
  CHECK(registry.find_job(7) == job);
}

TEST_CASE("a process that another task has taken stays that task's") {
  Node node;
  Registry& registry = node.registry;
  Task& first = node.add(7);
  registry.note_process(100, {registry.find_job(7), &first});
  Task& second = node.add(8);
  registry.note_process(100, {registry.find_job(8), &second});
  registry.remove_task(7, node.pid);
  CHECK(registry.known_owner(100).task == &second);
  CHECK(registry.known_owner(node.pid).task == &second);
}
