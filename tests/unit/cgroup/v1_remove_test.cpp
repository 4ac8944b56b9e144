#include <sched.h>

#include "cgroup/v1_backend.h"
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/fake_machine.h"

using namespace penstock;

namespace {

const std::string kStep = "/slurm_n1/step_0";
constexpr pid_t kTrainer = 100;
constexpr pid_t kThread = 101;  // of the trainer
constexpr pid_t kWorker = 102;  // its child

// A trainer at home with a thread and a worker, both away for job 7, and all
// under its I/O limit.
struct Leftovers {
  FakeMachine machine;
  V1Backend backend;
  std::map<pid_t, Home> homes;

  explicit Leftovers(bool together = false)
      : machine(together),
        backend(std::move(*V1Backend::create(machine.fs(), machine.proc(),
                                             machine.sched(), machine.mounts(),
                                             {}))) {
    machine.make_slurm_group("/slurm_n1", "0-1");
    machine.make_slurm_group(kStep, "0");
    machine.start(kTrainer, kTrainer, 1);
    machine.start(kThread, kTrainer, 1);
    machine.start(kWorker, kWorker, kTrainer);
    for (pid_t tid : {kTrainer, kThread, kWorker}) {
      machine.place(tid, "cpuset", kStep);
      machine.place(tid, "freezer", kStep);
      homes[tid] = *backend.home_of({tid, 0});
    }
    REQUIRE(backend.set_away_cpus(7, CpuSet{{2}}));
    for (pid_t tid : {kThread, kWorker}) {
      REQUIRE(backend.send_away(7, homes[tid]));
    }
    for (pid_t pid : {kTrainer, kWorker}) {
      REQUIRE(backend.attach_io(7, homes[pid]));
    }
  }

  FindHome known() {
    return [this](pid_t tid) -> std::optional<Home> {
      auto it = homes.find(tid);
      if (it == homes.end()) return std::nullopt;
      return it->second;
    };
  }
  void check_all_home() {
    for (pid_t tid : {kTrainer, kThread, kWorker}) {
      CAPTURE(tid);
      CHECK(machine.group_of(tid, "cpuset") == kStep);
      CHECK(machine.group_of(tid, "cpu") == "/");
      CHECK(machine.group_of(tid, "blkio") == "/");
      CHECK(machine.threads()[tid].affinity == CpuSet{{0}});
      CHECK(machine.threads()[tid].policy == SchedPolicy{});
    }
  }
  bool nothing_left() {
    for (const auto& [controller, mount] : machine.mounts().path_of) {
      if (machine.fs().exists(mount + "/penstock")) return false;
    }
    return true;
  }
};

std::optional<Home> nobody(pid_t) { return std::nullopt; }

}  // namespace

TEST_CASE("removal of a job deletes its groups and brings its threads home") {
  Leftovers test;
  REQUIRE(test.backend.remove_job(7, test.known()));
  test.check_all_home();
  CHECK(test.nothing_left());
  CHECK(test.backend.remove_job(7, test.known()));  // nothing there
}

TEST_CASE("parent groups stay while another job has groups") {
  Leftovers test;
  REQUIRE(test.backend.set_away_cpus(8, CpuSet{{3}}));
  REQUIRE(test.backend.remove_job(7, test.known()));
  CHECK(test.machine.fs().exists("cpuset/penstock/job_8"));
  CHECK_FALSE(test.machine.fs().exists("cpuset/penstock/job_7"));
  REQUIRE(test.backend.remove_job(8, test.known()));
  CHECK(test.nothing_left());
}

TEST_CASE("a sweep brings threads home even if their homes are unknown") {
  for (bool together : {false, true}) {
    CAPTURE(together);
    Leftovers test(together);
    REQUIRE(test.backend.sweep({}, nobody));
    test.check_all_home();
    CHECK(test.nothing_left());
  }
}

TEST_CASE("a home recorded for an earlier thread of the same tid is not used") {
  Leftovers test;
  test.machine.end(kWorker);
  test.machine.start(kWorker, kWorker, kTrainer, 5000);
  test.machine.place(kWorker, "cpuset", "/penstock/job_7");
  test.homes[kWorker].cpuset_path = "/slurm_n1";
  REQUIRE(test.backend.remove_job(7, test.known()));
  CHECK(test.machine.group_of(kWorker, "cpuset") == kStep);
  CHECK(test.nothing_left());
}

TEST_CASE("a worker without a parent goes to the group of its freezer") {
  Leftovers test;
  test.machine.start(1, 1, 0);
  test.machine.threads()[kWorker].ppid = 1;
  test.machine.place(kWorker, "blkio", "/");  // rewrites its /proc
  REQUIRE(test.backend.sweep({}, nobody));
  CHECK(test.machine.group_of(kWorker, "cpuset") == kStep);
  CHECK(test.machine.threads()[kWorker].affinity == CpuSet{{0}});
}

TEST_CASE("after a half-done move a sweep changes only the away half") {
  Leftovers test;
  test.machine.place(kWorker, "cpuset", "/slurm_n1");
  test.machine.threads()[kWorker].affinity = CpuSet{{1}};
  REQUIRE(test.backend.sweep({}, nobody));
  CHECK(test.machine.group_of(kWorker, "cpuset") == "/slurm_n1");
  CHECK(test.machine.group_of(kWorker, "cpu") == "/");
  CHECK(test.machine.threads()[kWorker].affinity == CpuSet{{1}});
}

TEST_CASE("a sweep leaves living jobs and foreign groups alone") {
  Leftovers test;
  REQUIRE(test.backend.set_away_cpus(8, CpuSet{{3}}));
  REQUIRE(test.machine.fs().make_dir("cpuset/penstock/other"));
  REQUIRE(test.backend.sweep({7}, nobody));
  CHECK(test.machine.group_of(kThread, "cpuset") == "/penstock/job_7");
  CHECK_FALSE(test.machine.fs().exists("cpuset/penstock/job_8"));
  CHECK(test.machine.fs().exists("cpuset/penstock/other"));
  CHECK(test.machine.group_of(kTrainer, "cpuset") == kStep);
}

TEST_CASE("a busy group is reported and removed later") {
  Leftovers test;
  test.machine.fail("rmdir", "cpuset/penstock/job_7", EBUSY);
  Status removed = test.backend.remove_job(7, test.known());
  CHECK(removed.error().code == Code::kUnavailable);
  test.check_all_home();
  CHECK_FALSE(test.machine.fs().exists("cpu/penstock"));
  test.machine.heal();
  REQUIRE(test.backend.remove_job(7, test.known()));
  CHECK(test.nothing_left());
}

TEST_CASE("a failure of one job does not prevent the sweep of others") {
  Leftovers test;
  REQUIRE(test.backend.set_away_cpus(8, CpuSet{{3}}));
  test.machine.fail("read", "cpuset/penstock/job_7/tasks", EIO);
  Status swept = test.backend.sweep({}, test.known());
  CHECK(swept.error().code != Code::kNotFound);
  CHECK_FALSE(test.machine.fs().exists("cpuset/penstock/job_8"));
  CHECK(test.machine.fs().exists("cpuset/penstock/job_7"));
  test.machine.heal();
  REQUIRE(test.backend.sweep({}, test.known()));
  CHECK(test.nothing_left());
}

TEST_CASE("a sweep removes an empty parent of limits") {
  Leftovers test;
  REQUIRE(test.backend.sweep({}, test.known()));
  REQUIRE(test.machine.fs().make_dir("cpu/penstock_limit"));
  REQUIRE(test.backend.sweep({}, test.known()));
  CHECK_FALSE(test.machine.fs().exists("cpu/penstock_limit"));
}

TEST_CASE("a sweep that cannot list groups reports it and is done later") {
  Leftovers test(/*together=*/true);
  REQUIRE(test.backend.set_away_cpus(8, CpuSet{{3}}));
  test.machine.fail("list", "cpuset/penstock", EIO);
  Status swept = test.backend.sweep({}, test.known());
  REQUIRE_FALSE(swept);
  CHECK(swept.error().saved_errno == EIO);
  CHECK_FALSE(test.machine.fs().exists("blkio/penstock/job_7"));
  CHECK(test.machine.fs().exists("cpuset/penstock/job_8"));
  test.machine.heal();
  REQUIRE(test.backend.sweep({}, test.known()));
  CHECK(test.nothing_left());
}

TEST_CASE(
    "threads that end while they are brought home do not block the next "
    "removal") {
  Leftovers test;
  test.machine.fail("write", kStep + "/tasks", ESRCH);
  test.machine.end(kWorker);
  CHECK_FALSE(test.backend.remove_job(7, test.known()).ok());
  test.machine.end(kThread);
  test.machine.heal();
  REQUIRE(test.backend.remove_job(7, test.known()));
  CHECK(test.nothing_left());
}
