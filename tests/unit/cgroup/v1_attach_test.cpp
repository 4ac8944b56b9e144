// Which threads the v1 backend moves between cpusets.
#include "cgroup/v1_backend.h"
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/fake_machine.h"

using namespace penstock;

namespace {

const std::string kStep = "/slurm_n1/uid_5/job_7/step_0";
constexpr JobId kJob = 7;
constexpr pid_t kTrainer = 100, kThread = 101, kWorker = 110;

// A job on CPU 0 that is lent two, with a loader thread and a worker process.
struct Node {
  FakeMachine machine;
  V1Backend backend;
  Home thread, worker;

  explicit Node(BackendSettings settings = {})
      : backend(std::move(*V1Backend::create(machine.fs(), machine.proc(),
                                             machine.sched(), machine.mounts(),
                                             std::move(settings)))) {
    machine.make_slurm_group(kStep, "0");
    machine.start(kTrainer, kTrainer, 1);
    machine.start(kThread, kTrainer, 1, 2000);
    machine.start(kWorker, kWorker, kTrainer, 3000);
    for (pid_t tid : {kTrainer, kThread, kWorker}) {
      machine.place(tid, "cpuset", kStep);
      machine.place(tid, "freezer", kStep);
    }
    thread = *backend.home_of({kThread, 0});
    worker = *backend.home_of({kWorker, 0});
    REQUIRE(backend.set_away_cpus(kJob, CpuSet{{2, 3}}));
  }
};

}  // namespace

TEST_CASE("a worker process moves between cpusets of the same memory nodes") {
  Node test;
  REQUIRE(test.backend.send_away(kJob, test.worker));
  CHECK(test.machine.group_of(kWorker, "cpuset") == "/penstock/job_7");
  REQUIRE(test.backend.bring_home(test.worker));
  CHECK(test.machine.group_of(kWorker, "cpuset") == kStep);

  const TempDir& tree = test.machine.tree();
  SECTION("but not between others") {
    tree.write("cpuset" + kStep + "/cpuset.mems", "1\n");
  }
  SECTION("but not into one that moves its memory") {
    tree.write("cpuset/penstock/job_7/cpuset.memory_migrate", "1\n");
  }
  const Status sent = test.backend.send_away(kJob, test.worker);
  CHECK(sent.error().code == Code::kUnavailable);
  CHECK(sent.error().message.find("same memory nodes") != std::string::npos);
  CHECK(test.machine.group_of(kWorker, "cpuset") == kStep);
  CHECK(test.machine.group_of(kWorker, "cpu") == "/");
  CHECK(test.backend.send_away(kJob, test.thread));  // a thread
}

TEST_CASE("where every move takes a memory's lock, only threads go away") {
  Node test({.every_attach_locks = true});
  const Status sent = test.backend.send_away(kJob, test.worker);
  CHECK(sent.error().code == Code::kUnavailable);
  CHECK(sent.error().message.find("Linux before 6.2") != std::string::npos);
  CHECK(test.machine.group_of(kWorker, "cpu") == "/");
  REQUIRE(test.backend.send_away(kJob, test.thread));
  REQUIRE(test.backend.bring_home(test.thread));
  CHECK(test.machine.group_of(kThread, "cpuset") == kStep);
}

TEST_CASE("a site may have processes moved all the same") {
  Node test({.always_moves = true});
  test.machine.tree().write("cpuset" + kStep + "/cpuset.mems", "1\n");
  CHECK(test.backend.send_away(kJob, test.worker));
  CHECK(test.machine.group_of(kWorker, "cpuset") == "/penstock/job_7");
}

TEST_CASE("there a process of an away thread stays, on its home's CPUs") {
  Node test({.every_attach_locks = true});
  REQUIRE(test.backend.send_away(kJob, test.thread));
  for (const char* controller : {"cpuset", "cpu"}) {
    test.machine.place(kWorker, controller, "/penstock/job_7");
  }
  CHECK(test.backend.bring_home(test.worker).error().code ==
        Code::kUnavailable);
  // It would compete with the lender's threads outside of this group.
  CHECK(test.machine.group_of(kWorker, "cpu") == "/penstock/job_7");
  REQUIRE(test.backend.bring_home(test.thread));
  const auto cpus = [&] {
    return test.machine.tree().read("cpuset/penstock/job_7/cpuset.cpus");
  };
  SECTION("when the loan ends") {
    REQUIRE(test.backend.set_away_cpus(kJob, CpuSet{}));
    CHECK(cpus() == "0");
  }
  SECTION("when the job's groups cannot be removed before it ends") {
    CHECK_FALSE(test.backend.remove_job(kJob, nullptr));
    CHECK(cpus() == "0");
    test.machine.end(kWorker);
    CHECK(test.backend.remove_job(kJob, nullptr));
  }
}
