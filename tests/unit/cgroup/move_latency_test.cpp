// How long a batch of moves takes on this machine. A move after a pause waits
// for the kernel's RCU grace period, the others of the batch do not: so the
// whole batch must be home within the 100 ms that Penstock promises.
#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/live_cgroups.h"

using namespace penstock;

namespace {

using Clock = std::chrono::steady_clock;
constexpr JobId kJob = 4000000002;
constexpr int kThreads = 16;
constexpr int kRounds = 40;

template <class F>
double timed_ms(F&& work) {
  auto start = Clock::now();
  work();
  return std::chrono::duration<double, std::milli>(Clock::now() - start)
      .count();
}

std::string summary(std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  return "median " + std::to_string(ms[ms.size() / 2]) + " ms, p99 " +
         std::to_string(ms[ms.size() * 99 / 100]) + " ms, of " +
         std::to_string(ms.size());
}

}  // namespace

TEST_CASE("a batch of threads is home within 100 ms") {
  if (std::string why = LiveCgroups::missing(); !why.empty()) {
    WARN("SKIPPED: " << why);
    return;
  }
  LiveCgroups live;
  Child child(kThreads);
  CpuSet all = *live.sched().affinity(child.pid());
  CpuSet last({all.cpus().back()});
  REQUIRE(live.backend().set_away_cpus(kJob, all));
  std::vector<Home> homes;
  const std::vector<pid_t> tids = *live.proc().threads(child.pid());
  for (pid_t tid : tids) {
    homes.push_back(*live.backend().home_of({tid, 0}));
  }
  std::vector<double> send_ms, narrow_ms, home_ms;
  // Longer than the kernel keeps moves cheap after the last one.
  const std::chrono::milliseconds pause{30};
  for (int round = 0; round < kRounds; ++round) {
    std::this_thread::sleep_for(pause);
    send_ms.push_back(timed_ms([&] {
      for (const Home& home : homes) {
        REQUIRE(live.backend().send_away(kJob, home));
      }
    }));
    std::this_thread::sleep_for(pause);
    narrow_ms.push_back(timed_ms([&] {
      REQUIRE(live.backend().set_away_cpus(kJob, round % 2 ? all : last));
    }));
    home_ms.push_back(timed_ms([&] {
      for (const Home& home : homes) REQUIRE(live.backend().bring_home(home));
    }));
  }
  WARN("send_away x " << kThreads << ": " << summary(send_ms));
  WARN("set_away_cpus: " << summary(narrow_ms));
  WARN("bring_home x " << kThreads << ": " << summary(home_ms));
  // One round may be this process's own wait for a CPU.
  CHECK(std::count_if(home_ms.begin(), home_ms.end(),
                      [](double ms) { return ms > 100; }) <= 1);
  REQUIRE(live.backend().remove_job(kJob, nullptr));
}
