// On the machine's own cgroup v1 hierarchies, in groups of a unique name.
#include <chrono>
#include <thread>

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/live_cgroups.h"

using namespace penstock;

#define SKIP_UNLESS_LIVE()                                      \
  if (std::string why = LiveCgroups::missing(); !why.empty()) { \
    WARN("SKIPPED: " << why);                                   \
    return;                                                     \
  }

namespace {

constexpr JobId kJob = 4000000001;

std::vector<Home> homes_of(LiveCgroups& live, pid_t pid) {
  std::vector<Home> homes;
  const std::vector<pid_t> tids = *live.proc().threads(pid);
  for (pid_t tid : tids) {
    auto home = live.backend().home_of({tid, 0});
    if (!home) FAIL(home.error().message);
    homes.push_back(*home);
  }
  return homes;
}

void check_at(LiveCgroups& live, const Home& home) {
  auto now = live.backend().home_of(home.task);
  REQUIRE(now);
  CHECK(now->cpuset_path == home.cpuset_path);
  CHECK(now->cpu_path == home.cpu_path);
  CHECK(now->blkio_path == home.blkio_path);
  CHECK(now->affinity == home.affinity);
  CHECK(now->policy == home.policy);
}

}  // namespace

TEST_CASE("threads of a real process go away and come home") {
  SKIP_UNLESS_LIVE();
  LiveCgroups live;
  Child child(4);
  CpuSet all = *live.sched().affinity(child.pid());
  CpuSet first({all.cpus().front()});
  CpuSet last({all.cpus().back()});
  std::vector<pid_t> tids = *live.proc().threads(child.pid());
  REQUIRE(tids.size() == 4);
  for (pid_t tid : tids) REQUIRE(live.sched().set_affinity(tid, first));
  std::vector<Home> homes = homes_of(live, child.pid());

  REQUIRE(live.backend().set_away_cpus(kJob, last));
  for (size_t i = 1; i < homes.size(); ++i) {
    REQUIRE(live.backend().send_away(kJob, homes[i]));
  }
  const std::string away = "/" + live.name() + "/job_4000000001";
  CHECK((*live.proc().cgroups(tids[0]))["cpuset"] == homes[0].cpuset_path);
  for (size_t i = 1; i < homes.size(); ++i) {
    CHECK((*live.proc().cgroups(tids[i]))["cpuset"] == away);
    CHECK((*live.proc().cgroups(tids[i]))["cpu"] ==
          (live.mounts().cpu_with_cpuacct() ? homes[i].cpu_path : away));
    CHECK(*live.sched().affinity(tids[i]) == last);
  }
  // Lent CPUs change under the threads that are away.
  REQUIRE(live.backend().set_away_cpus(kJob, all));
  CHECK(*live.sched().affinity(tids[1]) == all);
  REQUIRE(live.backend().set_away_cpus(kJob, first));
  CHECK(*live.sched().affinity(tids[1]) == first);

  for (const Home& home : homes) REQUIRE(live.backend().bring_home(home));
  for (const Home& home : homes) check_at(live, home);
  REQUIRE(live.backend().remove_job(kJob, nullptr));
  CHECK_FALSE(live.anything_left());
}

TEST_CASE("a sweep removes the remains of a crash") {
  SKIP_UNLESS_LIVE();
  LiveCgroups live;
  Child child(3);
  CpuSet all = *live.sched().affinity(child.pid());
  std::vector<Home> homes = homes_of(live, child.pid());
  REQUIRE(live.backend().set_away_cpus(kJob, CpuSet({all.cpus().back()})));
  for (const Home& home : homes) {
    REQUIRE(live.backend().send_away(kJob, home));
  }
  REQUIRE(live.backend().attach_io(kJob, homes[0]));
  CHECK((*live.proc().cgroups(homes[1].task.tid))["blkio"] ==
        "/" + live.name() + "/job_4000000001");
  REQUIRE(live.backend().sweep({kJob}, nullptr));
  CHECK(live.anything_left());
  REQUIRE(live.backend().sweep({}, nullptr));
  CHECK_FALSE(live.anything_left());
  for (const Home& home : homes) check_at(live, home);
}

TEST_CASE("a real thread that has ended is not found") {
  SKIP_UNLESS_LIVE();
  LiveCgroups live;
  Child child(1);
  Home home = homes_of(live, child.pid()).front();
  REQUIRE(live.backend().set_away_cpus(kJob, home.affinity));
  REQUIRE(live.backend().send_away(kJob, home));
  child.end();
  CHECK(live.backend().bring_home(home).error().code == Code::kNotFound);
  CHECK(live.backend().send_away(kJob, home).error().code == Code::kNotFound);
  REQUIRE(live.backend().remove_job(kJob, nullptr));
  CHECK_FALSE(live.anything_left());
}

TEST_CASE("refusals by the kernel are reported") {
  SKIP_UNLESS_LIVE();
  LiveCgroups live;
  CHECK(live.backend().set_away_cpus(kJob, CpuSet{{4095}}).error().code ==
        Code::kInvalidArgument);
  Child child(1);
  Home home = homes_of(live, child.pid()).front();
  // The cpuset exists now, and has no CPUs.
  CHECK(live.backend().send_away(kJob, home).error().code ==
        Code::kUnavailable);
  check_at(live, home);
  CHECK(live.backend().set_io_limit(kJob, "4095:9", 1).error().code ==
        Code::kInvalidArgument);
  CHECK(live.backend().cpu_usage_ns("/no/such/group").error().code ==
        Code::kNotFound);
  CHECK(*live.backend().cpu_usage_ns("/") > 0);
  REQUIRE(live.backend().remove_job(kJob, nullptr));
}

// The away threads' part of the CPU time that they and a lender get together
// on one CPU, all of them spinning.
double away_part(bool away_yields) {
  LiveCgroups live(away_yields);
  Child lender(1, true);
  Child borrower(3, true);
  CpuSet cpu({live.sched().affinity(lender.pid())->cpus().back()});
  REQUIRE(live.sched().set_affinity(lender.pid(), cpu));
  REQUIRE(live.backend().set_away_cpus(kJob, cpu));
  std::vector<SchedstatFile> away;
  for (const Home& home : homes_of(live, borrower.pid())) {
    REQUIRE(live.backend().send_away(kJob, home));
    away.push_back(*live.proc().open_schedstat(home.task.tid));
  }
  SchedstatFile at_home = *live.proc().open_schedstat(lender.pid());
  auto ran_ns = [&] {
    uint64_t sum_ns = 0;
    for (const SchedstatFile& thread : away) sum_ns += thread.read()->run_ns;
    return sum_ns;
  };
  const uint64_t lender_ns = at_home.read()->run_ns;
  const uint64_t away_ns = ran_ns();
  // Until the two have had 0.5 s of the CPU, however busy the machine is.
  double lender_got = 0, away_got = 0;
  while (lender_got + away_got < 0.5e9) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    lender_got = static_cast<double>(at_home.read()->run_ns - lender_ns);
    away_got = static_cast<double>(ran_ns() - away_ns);
  }
  return away_got / (lender_got + away_got);
}

TEST_CASE(
    "away threads yield to a lender, but not with yielding switched off") {
  SKIP_UNLESS_LIVE();
  CHECK(away_part(true) < 0.05);
  CHECK(away_part(false) > 0.25);
}
