#include "cgroup/v1_backend.h"
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/fake_machine.h"

using namespace penstock;

namespace {

constexpr JobId kJob = 7;
const std::string kGroup = "blkio/penstock/job_7";

struct Io {
  FakeMachine machine;
  V1Backend backend;

  Io()
      : backend(std::move(*V1Backend::create(machine.fs(), machine.proc(),
                                             machine.sched(), machine.mounts(),
                                             {}))) {
    machine.start(100, 100, 1);
  }
};

}  // namespace

TEST_CASE("a process is attached and detached") {
  Io test;
  Home home = *test.backend.home_of({100, 0});
  REQUIRE(test.backend.attach_io(kJob, home));
  CHECK(test.machine.group_of(100, "blkio") == "/penstock/job_7");
  CHECK(test.machine.writes().back() == kGroup + "/cgroup.procs=100");
  CHECK(test.machine.group_of(100, "cpuset") == "/");
  REQUIRE(test.backend.detach_io(home));
  CHECK(test.machine.group_of(100, "blkio") == "/");
  test.machine.end(100);
  CHECK(test.backend.attach_io(kJob, home).error().code == Code::kNotFound);
  CHECK(test.backend.detach_io(home).error().code == Code::kNotFound);
}

TEST_CASE("a limit is set and cleared, and invalid ones are refused") {
  Io test;
  const std::string file = kGroup + "/blkio.throttle.read_bps_device";
  REQUIRE(test.backend.clear_io_limit(kJob, "7:0"));  // no group: no limit
  REQUIRE(test.backend.set_io_limit(kJob, "7:0", 1000));
  CHECK(test.machine.tree().read(file) == "7:0 1000");
  REQUIRE(test.backend.clear_io_limit(kJob, "7:0"));
  CHECK(test.machine.tree().read(file) == "7:0 0");
  CHECK_FALSE(test.backend.set_io_limit(kJob, "7:0", 0).ok());
  CHECK_FALSE(test.backend.set_io_limit(kJob, "7:0\n8:0", 5).ok());
  CHECK_FALSE(test.backend.clear_io_limit(kJob, "x").ok());
}

TEST_CASE("an unknown device is an invalid argument") {
  Io test;
  test.machine.fail("write", "read_bps_device", ENODEV);
  Status set = test.backend.set_io_limit(kJob, "7:99", 1000);
  CHECK(set.error().code == Code::kInvalidArgument);
  CHECK(set.error().message.find("7:99") != std::string::npos);
  CHECK(test.backend.clear_io_limit(kJob, "7:99"));  // the device is gone
  test.machine.heal();
  test.machine.fail("write", "read_bps_device", EIO);
  CHECK(test.backend.set_io_limit(kJob, "7:0", 1000).error().saved_errno ==
        EIO);
  CHECK_FALSE(test.backend.clear_io_limit(kJob, "7:0").ok());
}

TEST_CASE("bytes read and CPU time are reported, missing groups are errors") {
  Io test;
  CHECK(test.backend.io_read_bytes(kJob, "7:0").error().code ==
        Code::kNotFound);
  REQUIRE(test.backend.set_io_limit(kJob, "7:0", 1000));
  CHECK(*test.backend.io_read_bytes(kJob, "7:0") == 0);
  test.machine.tree().write(kGroup + "/blkio.throttle.io_service_bytes",
                            "7:0 Read 4096\n7:0 Write 1\nTotal 4097\n");
  CHECK(*test.backend.io_read_bytes(kJob, "7:0") == 4096);
  CHECK_FALSE(test.backend.io_read_bytes(kJob, "7").ok());
  test.machine.make_slurm_group("/slurm_n1", "0");
  test.machine.tree().write("cpuacct/slurm_n1/cpuacct.usage", "77\n");
  CHECK(*test.backend.cpu_usage_ns("/slurm_n1") == 77);
  test.machine.tree().write("cpuacct/slurm_n1/cpuacct.usage_user", "33\n");
  CHECK(*test.backend.cpu_user_ns("/slurm_n1") == 33);
  CHECK(test.backend.cpu_usage_ns("/none").error().code == Code::kNotFound);
  test.machine.tree().write("cpuacct/slurm_n1/cpuacct.usage", "");  // short
  CHECK(test.backend.cpu_usage_ns("/slurm_n1").error().code ==
        Code::kInvalidArgument);
}

TEST_CASE("a group's killed processes are counted, with its memory limit") {
  FakeMachine machine;
  V1Mounts mounts = machine.mounts();
  mounts.path_of["memory"] = "memory";
  const V1Backend backend = std::move(*V1Backend::create(
      machine.fs(), machine.proc(), machine.sched(), mounts, {}));
  const std::string job = "/slurm_n1/uid_5/job_7";
  const ProcCgroups groups = {{"memory", job + "/step_0"}, {"cpuacct", job}};
  CHECK(backend.job_groups_of(groups).memory == job + "/step_0");
  CHECK(backend.job_groups_of({{"memory", "/user.slice"}}).memory.empty());

  CHECK(backend.memory_kills(job).error().code == Code::kNotFound);
  machine.tree().write("memory" + job + "/memory.oom_control",
                       "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
  machine.tree().write("memory" + job + "/memory.stat",
                       "cache 5\nhierarchical_memory_limit 4096\n");
  CHECK(backend.memory_kills(job)->killed == 3);
  CHECK(backend.memory_kills(job)->limit_bytes == 0);  // it was not met
  machine.tree().write("memory" + job + "/memory.failcnt", "12\n");
  CHECK(backend.memory_kills(job)->limit_bytes == 4096);
  machine.tree().write("memory" + job + "/memory.stat",
                       "hierarchical_memory_limit 9223372036854771712\n");
  CHECK(backend.memory_kills(job)->limit_bytes == 0);  // none
}

TEST_CASE("a home's cpuset may be wider than its affinity") {
  FakeMachine machine;
  machine.make_slurm_group("/slurm_n1", "0-1");
  const V1Backend backend = std::move(*V1Backend::create(
      machine.fs(), machine.proc(), machine.sched(), machine.mounts(), {}));
  Home home;
  home.cpuset_path = "/slurm_n1";
  home.affinity = CpuSet({0});
  CHECK_FALSE(backend.cpuset_of(home));
  machine.tree().write("cpuset/slurm_n1/cpuset.effective_cpus", "0-1\n");
  CHECK(*backend.cpuset_of(home) == CpuSet({0, 1}));
}

TEST_CASE("controllers that are not mounted are unavailable") {
  FakeMachine machine;
  machine.start(100, 100, 1);
  V1Mounts mounts = machine.mounts();
  mounts.path_of.erase("blkio");
  mounts.path_of.erase("cpuacct");
  V1Backend backend = std::move(*V1Backend::create(
      machine.fs(), machine.proc(), machine.sched(), mounts, {}));
  Home home = *backend.home_of({100, 0});
  CHECK(backend.attach_io(kJob, home).error().code == Code::kUnavailable);
  CHECK(backend.detach_io(home).error().code == Code::kUnavailable);
  CHECK(backend.set_io_limit(kJob, "7:0", 1).error().code ==
        Code::kUnavailable);
  CHECK(backend.clear_io_limit(kJob, "7:0").error().code == Code::kUnavailable);
  CHECK(backend.io_read_bytes(kJob, "7:0").error().code == Code::kUnavailable);
  CHECK(backend.cpu_usage_ns("/").error().code == Code::kUnavailable);
  REQUIRE(backend.set_away_cpus(kJob, CpuSet{{2}}));
  REQUIRE(backend.send_away(kJob, home));
  REQUIRE(backend.remove_job(kJob, nullptr));
  CHECK(machine.group_of(100, "cpuset") == "/");
}
