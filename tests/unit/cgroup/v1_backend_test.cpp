#include "cgroup/v1_backend.h"

#include <sched.h>

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/fake_machine.h"

using namespace penstock;

namespace {

const std::string kStep = "/slurm_n1/uid_5/job_7/step_0";
constexpr JobId kJob = 7;
constexpr pid_t kTrainer = 100;
constexpr pid_t kLoader = 101;

V1Backend backend_of(const FakeMachine& machine,
                     BackendSettings settings = {}) {
  return std::move(*V1Backend::create(machine.fs(), machine.proc(),
                                      machine.sched(), machine.mounts(),
                                      std::move(settings)));
}

// A Slurm task on CPU 0 with a loader thread.
void start_task(FakeMachine& machine) {
  for (const char* group :
       {"/slurm_n1", "/slurm_n1/uid_5", "/slurm_n1/uid_5/job_7"}) {
    machine.make_slurm_group(group, "0-1");
  }
  machine.make_slurm_group(kStep, "0");
  machine.start(kTrainer, kTrainer, 1);
  machine.start(kLoader, kTrainer, 1, 2000);
  for (pid_t tid : {kTrainer, kLoader}) {
    machine.place(tid, "cpuset", kStep);
    machine.place(tid, "freezer", kStep);
  }
}

struct Away {
  FakeMachine machine;
  V1Backend backend;
  Home home;

  explicit Away(bool together = false, BackendSettings settings = {})
      : machine(together), backend(backend_of(machine, settings)) {
    start_task(machine);
    home = *backend.home_of({kLoader, 0});
    REQUIRE(backend.set_away_cpus(kJob, CpuSet{{2, 3}}));
  }
  bool at_home() {
    return machine.group_of(kLoader, "cpuset") == kStep &&
           machine.group_of(kLoader, "cpu") == "/" &&
           machine.threads()[kLoader].affinity == CpuSet{{0}} &&
           machine.threads()[kLoader].policy == SchedPolicy{};
  }
};

// Of Slurm's files only `tasks` may be written.
void check_slurm_untouched(const FakeMachine& machine) {
  for (const std::string& write : machine.writes()) {
    CAPTURE(write);
    if (write.find("slurm") == write.npos) continue;
    CHECK(write.find("/tasks=") != write.npos);
  }
}

}  // namespace

TEST_CASE("a home has the thread's identity, groups and affinity") {
  Away test;
  CHECK(test.home.task == TaskId{kLoader, 2000});
  CHECK(test.home.cpuset_path == kStep);
  CHECK(test.home.cpu_path == "/");
  CHECK(test.home.blkio_path == "/");
  CHECK(test.home.affinity == CpuSet{{0}});
  CHECK(test.backend.home_of({99, 0}).error().code == Code::kNotFound);
  CHECK(test.backend.home_of({kLoader, 1}).error().code == Code::kNotFound);
}

TEST_CASE(
    "a thread goes away and comes home to its former groups and affinity") {
  Away test;
  REQUIRE(test.backend.send_away(kJob, test.home));
  CHECK(test.machine.group_of(kLoader, "cpuset") == "/penstock/job_7");
  CHECK(test.machine.group_of(kLoader, "cpu") == "/penstock/job_7");
  CHECK(test.machine.threads()[kLoader].affinity == CpuSet{{2, 3}});
  CHECK(test.machine.group_of(kTrainer, "cpuset") == kStep);
  CHECK(test.backend.home_of({kLoader, 0}).error().code ==
        Code::kInvalidArgument);
  REQUIRE(test.backend.bring_home(test.home));
  CHECK(test.at_home());
  REQUIRE(test.backend.bring_home(test.home));  // again
  CHECK(test.at_home());
  check_slurm_untouched(test.machine);
}

TEST_CASE("Penstock's groups are set up before a thread enters") {
  Away test;
  const TempDir& tree = test.machine.tree();
  CHECK(tree.read("cpu/penstock/cpu.idle") == "1");
  CHECK(tree.read("cpu/penstock/job_7/cpu.idle") == "0\n");
  CHECK(tree.read("cpuset/penstock/cpuset.cpus") == "0-3\n");
  CHECK(tree.read("cpuset/penstock/job_7/cpuset.cpus") == "2-3");
  CHECK(tree.read("cpuset/penstock/job_7/cpuset.mems") == "0\n");
  REQUIRE(test.backend.set_away_cpus(kJob, CpuSet{}));  // nothing is lent
  CHECK(tree.read("cpuset/penstock/job_7/cpuset.cpus") == "2-3");
}

TEST_CASE("without yielding the groups have default shares") {
  Away test(false, {"penstock", false});
  CHECK(test.machine.tree().read("cpu/penstock/cpu.idle") == "0");
  CHECK(test.machine.tree().read("cpu/penstock/cpu.shares") == "1024\n");
}

TEST_CASE("a kernel without cpu.idle gets the smallest share") {
  FakeMachine machine;
  V1Backend backend = backend_of(machine);
  machine.fail("write", "cpu.idle", ENOENT);
  REQUIRE(backend.set_away_cpus(kJob, CpuSet{{2}}));
  CHECK(machine.tree().read("cpu/penstock/cpu.shares") == "2");
}

TEST_CASE("without away CPUs no thread goes away") {
  FakeMachine machine;
  V1Backend backend = backend_of(machine);
  start_task(machine);
  Home home = *backend.home_of({kLoader, 0});
  CHECK(backend.send_away(kJob, home).error().code == Code::kUnavailable);
  CHECK(machine.group_of(kLoader, "cpuset") == kStep);
  // A group whose CPUs were never set (a crash in between).
  for (const char* group : {"cpu/penstock", "cpuset/penstock"}) {
    REQUIRE(machine.fs().make_dir(group));
    REQUIRE(machine.fs().make_dir(group + std::string("/job_7")));
  }
  CHECK(backend.send_away(kJob, home).error().code == Code::kUnavailable);
  CHECK(machine.group_of(kLoader, "cpu") == "/");
}

TEST_CASE("a thread that cannot go away stays home unchanged") {
  struct Case {
    const char* operation;
    const char* where;
    int error_number;
  };
  const Case cases[] = {{"write", "cpu/penstock/job_7/tasks", EIO},
                        {"write", "cpu/penstock/job_7/tasks", EROFS},
                        {"write", "cpu/penstock/job_7/tasks", 0},
                        {"write", "cpuset/penstock/job_7/tasks", EBUSY},
                        {"write", "cpuset/penstock/job_7/tasks", EIO}};
  for (const Case& c : cases) {
    CAPTURE(c.operation, c.where, c.error_number);
    Away test;
    test.machine.fail(c.operation, c.where, c.error_number);
    Status sent = test.backend.send_away(kJob, test.home);
    CHECK(sent.error().code == Code::kIo);
    CHECK(sent.error().saved_errno == c.error_number);
    CHECK(test.at_home());
  }
}

TEST_CASE("the way home continues after a failed step") {
  Away test;
  REQUIRE(test.backend.send_away(kJob, test.home));
  test.machine.fail("write", "cpuset" + kStep, EIO);
  CHECK(test.backend.bring_home(test.home).error().saved_errno == EIO);
  CHECK(test.machine.group_of(kLoader, "cpu") == "/");
  test.machine.heal();
  REQUIRE(test.backend.bring_home(test.home));
  CHECK(test.at_home());
}

TEST_CASE("a failure that cannot be undone is reported as such") {
  Away test;
  test.machine.fail("affinity", std::to_string(kLoader), EPERM);
  Status sent = test.backend.send_away(kJob, test.home);
  CHECK(sent.error().message.find("not brought home") != std::string::npos);
  CHECK(test.machine.group_of(kLoader, "cpuset") == kStep);
  CHECK(test.machine.group_of(kLoader, "cpu") == "/");
}

TEST_CASE("a thread that died, or whose tid was reused, is not found") {
  Away test;
  SECTION("died before it went away") { test.machine.end(kLoader); }
  SECTION("tid reused") {
    test.machine.end(kLoader);
    test.machine.start(kLoader, kLoader, 1, 3000);
  }
  SECTION("died while away") {
    REQUIRE(test.backend.send_away(kJob, test.home));
    test.machine.end(kLoader);
  }
  CHECK(test.backend.send_away(kJob, test.home).error().code ==
        Code::kNotFound);
  CHECK(test.backend.bring_home(test.home).error().code == Code::kNotFound);
  if (test.machine.threads().contains(kLoader)) {
    CHECK(test.machine.group_of(kLoader, "cpuset") == "/");
  }
}

TEST_CASE("a thread that dies between two steps of a move is not found") {
  Away test;
  test.machine.fail("write", "cpuset/penstock/job_7/tasks", ESRCH);
  CHECK(test.backend.send_away(kJob, test.home).error().code ==
        Code::kNotFound);
}

TEST_CASE("a home that Slurm removed becomes its nearest ancestor") {
  Away test;
  REQUIRE(test.backend.send_away(kJob, test.home));
  test.machine.place(kTrainer, "cpuset", "/");
  std::filesystem::remove_all(test.machine.tree().path() / ("cpuset" + kStep));
  REQUIRE(test.backend.bring_home(test.home));
  CHECK(test.machine.group_of(kLoader, "cpuset") == "/slurm_n1/uid_5/job_7");
  CHECK(test.machine.threads()[kLoader].affinity == CpuSet{{0}});
  test.machine.place(kLoader, "cpuset", "/penstock/job_7");
  std::filesystem::remove_all(test.machine.tree().path() / "cpuset/slurm_n1");
  REQUIRE(test.backend.bring_home(test.home));
  CHECK(test.machine.group_of(kLoader, "cpuset") == "/");
}

TEST_CASE("a home whose CPUs changed gives all of its CPUs") {
  Away test;
  REQUIRE(test.backend.send_away(kJob, test.home));
  test.machine.tree().write("cpuset" + kStep + "/cpuset.cpus", "1\n");
  REQUIRE(test.backend.bring_home(test.home));
  CHECK(test.machine.threads()[kLoader].affinity == CpuSet{{1}});
}

TEST_CASE(
    "with cpu and cpuacct in one hierarchy a thread keeps its cpu group") {
  Away test(true);
  REQUIRE(test.backend.send_away(kJob, test.home));
  CHECK(test.machine.group_of(kLoader, "cpuset") == "/penstock/job_7");
  CHECK(test.machine.group_of(kLoader, "cpu") == "/");
  CHECK(test.machine.threads()[kLoader].policy.policy == SCHED_IDLE);
  CHECK_FALSE(test.machine.fs().exists("cpu,cpuacct/penstock"));
  REQUIRE(test.backend.bring_home(test.home));
  CHECK(test.at_home());
  SECTION("a thread whose policy cannot be set stays home") {
    test.machine.fail("policy", std::to_string(kLoader), EPERM);
    Status sent = test.backend.send_away(kJob, test.home);
    CHECK(sent.error().code == Code::kPermissionDenied);
    CHECK(test.at_home());
  }
  check_slurm_untouched(test.machine);
}

TEST_CASE("SCHED_IDLE yields within one group only") {
  Away together(true);
  Home home = together.home;
  const Status yields = together.backend.yields_to(home, "/slurm_n1/job_8");
  CHECK(yields.error().code == Code::kUnavailable);
  CHECK(
      yields.error().message.starts_with("cpu and cpuacct are one hierarchy"));
  CHECK_FALSE(together.backend.yields_to(home, "/"));  // autogroups
  home.cpu_path = "/system.slice";
  CHECK(together.backend.yields_to(home, "/system.slice"));
  Away apart;
  CHECK(apart.backend.yields_to(apart.home, "/anywhere"));
}

TEST_CASE("invalid CPUs and an invalid disk give different errors") {
  Away test;
  test.machine.fail("write", "job_7/cpuset.cpus", EINVAL);
  CHECK(test.backend.set_away_cpus(kJob, CpuSet{{9}}).error().code ==
        Code::kInvalidArgument);
  test.machine.heal();
  test.machine.fail("mkdir", "penstock", EROFS);
  CHECK(test.backend.set_away_cpus(8, CpuSet{{1}}).error().saved_errno ==
        EROFS);
  test.machine.heal();
  test.machine.fail("read", "cpuset/cpuset.mems", EIO);
  CHECK(test.backend.set_away_cpus(8, CpuSet{{1}}).error().saved_errno == EIO);
}

TEST_CASE("a backend needs its controllers and a valid group name") {
  FakeMachine machine;
  for (const char* name : {"", "a/b", "..", "."}) {
    CAPTURE(name);
    CHECK(V1Backend::create(machine.fs(), machine.proc(), machine.sched(),
                            machine.mounts(), {name, true})
              .error()
              .code == Code::kInvalidArgument);
  }
  V1Mounts without = machine.mounts();
  without.path_of.erase("cpuset");
  CHECK(V1Backend::create(machine.fs(), machine.proc(), machine.sched(),
                          without, {})
            .error()
            .code == Code::kUnavailable);
}

TEST_CASE("the freezer reports jobs frozen by Slurm") {
  Away away;
  const auto is_frozen = [&] {
    return away.backend.is_frozen(*away.machine.proc().cgroups(kTrainer));
  };
  CHECK_FALSE(is_frozen());  // no such file
  const std::string file = "freezer" + std::string(kStep) + "/freezer.state";
  away.machine.tree().write(file, "FREEZING\n");
  CHECK_FALSE(is_frozen());
  away.machine.tree().write(file, "FROZEN\n");
  CHECK(is_frozen());
}

TEST_CASE("CPUs of Slurm's jobs that cannot be read are unknown, not free") {
  FakeMachine machine;
  start_task(machine);
  machine.tree().write("cpuset" + kStep + "/cgroup.procs", "100\n");
  const V1Backend backend = backend_of(machine);
  CHECK(*backend.slurm_cpus() == CpuSet{{0, 1}});
  const std::pair<const char*, const char*> reads[] = {
      {"list", "slurm_n1/uid_5"},
      {"list", "uid_5/job_7"},
      {"read", "step_0/cgroup.procs"},
      {"read", "job_7/cpuset.cpus"}};
  for (const auto& [operation, where] : reads) {
    CAPTURE(operation, where);
    machine.fail(operation, where, EIO);
    CHECK_FALSE(backend.slurm_cpus());
    machine.heal();
    machine.fail(operation, where, ENOENT);  // the group ends meanwhile
    CHECK(backend.slurm_cpus());
    machine.heal();
  }
}

TEST_CASE("a guest yields to all away threads, and can be held back") {
  Away f;
  const std::string group =
      f.machine.mounts().path_of.at("cpu") + "/penstock/job_7";
  const auto read = [&](const char* file) {
    return *f.machine.fs().read_file(group + file);
  };
  REQUIRE(f.backend.give_way(kJob));
  CHECK(read("/cpu.shares") == "2");
  REQUIRE(f.backend.hold_back(kJob, true));
  CHECK(read("/cpu.cfs_period_us") == "10000");
  CHECK(read("/cpu.cfs_quota_us") == "1000");
  REQUIRE(f.backend.hold_back(kJob, false));
  CHECK(read("/cpu.cfs_quota_us") == "-1");
}

TEST_CASE("where cpu and cpuacct are one hierarchy there are no guests") {
  Away f(true);
  CHECK(f.backend.give_way(kJob).error().code == Code::kUnavailable);
}
