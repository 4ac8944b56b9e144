// Limits of a job's CPU time: on the machine's own hierarchy, and on machines
// without them.
#include <chrono>
#include <thread>

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/fake_machine.h"
#include "tests/unit/cgroup/live_cgroups.h"

using namespace penstock;

namespace {

constexpr JobId kJob = 4000000002;

// Cores that a process uses, averaged over 800 ms.
double cores_of(const LiveCgroups& live, pid_t pid) {
  const auto run_ns = [&] {
    uint64_t sum = 0;
    const std::vector<pid_t> tids = *live.proc().threads(pid);
    for (pid_t tid : tids) sum += live.proc().schedstat(tid)->run_ns;
    return sum;
  };
  const auto begin = std::chrono::steady_clock::now();
  const uint64_t before_ns = run_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  const uint64_t after_ns = run_ns();
  const std::chrono::duration<double> wall_s =
      std::chrono::steady_clock::now() - begin;
  return double(after_ns - before_ns) * 1e-9 / wall_s.count();
}

}  // namespace

TEST_CASE(
    "a limited process gets at most its limit and is moved back afterwards") {
  if (std::string why = LiveCgroups::missing(); !why.empty()) {
    WARN("SKIPPED: " << why);
    return;
  }
  LiveCgroups live;
  if (live.mounts().cpu_with_cpuacct()) {
    WARN("SKIPPED: cpu and cpuacct are one hierarchy");
    return;
  }
  Child child(2, true);
  const Home home = *live.backend().home_of({child.pid(), 0});
  REQUIRE(live.backend().set_cpu_limit(kJob, {home}, 300));
  const std::string group = "/" + live.name() + "_limit/job_4000000002";
  for (pid_t tid : *live.proc().threads(child.pid())) {
    CHECK((*live.proc().cgroups(tid))["cpu"] == group);
    CHECK(live.backend().home_of({tid, 0})->cpu_path == home.cpu_path);
  }
  // Other load may leave the process less, never more.
  CHECK(cores_of(live, child.pid()) <= 0.33);
  REQUIRE(live.backend().set_cpu_limit(kJob, {home}, 500));  // a second limit
  CHECK(*live.fs().read_file("cpu" + group + "/cpu.cfs_quota_us") == "5000\n");
  SECTION("cleared") {
    REQUIRE(live.backend().clear_cpu_limit(kJob, nullptr));
    REQUIRE(live.backend().clear_cpu_limit(kJob, nullptr));  // nothing there
  }
  SECTION("its job removed") {
    REQUIRE(live.backend().remove_job(kJob, nullptr));
  }
  SECTION("swept") { REQUIRE(live.backend().sweep({}, nullptr)); }
  CHECK((*live.proc().cgroups(child.pid()))["cpu"] == home.cpu_path);
  CHECK_FALSE(live.anything_left());
  CHECK_FALSE(live.fs().exists("cpu/" + live.name() + "_limit"));
}

TEST_CASE("a later run removes the limit of a crashed one") {
  FakeMachine machine;
  machine.start(100, 100, 1);
  REQUIRE(machine.fs().make_dir("cpu/site"));
  machine.place(100, "cpu", "/site");
  V1Backend first = std::move(*V1Backend::create(
      machine.fs(), machine.proc(), machine.sched(), machine.mounts(), {}));
  const Home home = *first.home_of({100, 0});
  REQUIRE(first.set_cpu_limit(kJob, {home}, 1500));
  CHECK(machine.tree().read(
            "cpu/penstock_limit/job_4000000002/cpu.cfs_quota_us") == "15000");
  V1Backend later = std::move(*V1Backend::create(
      machine.fs(), machine.proc(), machine.sched(), machine.mounts(), {}));
  CHECK_FALSE(later.home_of({100, 0}).ok());  // its home is unknown
  std::string where;
  SECTION("known home") {
    REQUIRE(later.sweep({}, [&](pid_t) { return home; }));
    where = "/site";
  }
  SECTION("unknown home") {
    REQUIRE(later.sweep({}, nullptr));
    where = "/";
  }
  CHECK(machine.group_of(100, "cpu") == where);
}

TEST_CASE("with cpu and cpuacct in one hierarchy a limit is unavailable") {
  FakeMachine machine;
  machine.start(100, 100, 1);
  V1Mounts mounts = machine.mounts();
  mounts.path_of["cpuacct"] = mounts.path_of["cpu"];
  V1Backend backend = std::move(*V1Backend::create(
      machine.fs(), machine.proc(), machine.sched(), mounts, {}));
  const Home home = *backend.home_of({100, 0});
  CHECK(backend.set_cpu_limit(kJob, {home}, 500).error().code ==
        Code::kUnavailable);
  CHECK(backend.clear_cpu_limit(kJob, nullptr));
}

TEST_CASE("an ended process is not a failure, a refusal by the kernel is") {
  FakeMachine machine;
  machine.start(100, 100, 1);
  V1Backend backend = std::move(*V1Backend::create(
      machine.fs(), machine.proc(), machine.sched(), machine.mounts(), {}));
  const Home home = *backend.home_of({100, 0});
  machine.fail("write", "cpu.cfs_quota_us", EINVAL);
  CHECK(backend.set_cpu_limit(kJob, {home}, 500).error().saved_errno == EINVAL);
  machine.heal();
  machine.end(100);
  CHECK(backend.set_cpu_limit(kJob, {home}, 500));
}
