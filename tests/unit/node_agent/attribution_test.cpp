#include "node_agent/plan/attribution.h"

#include <cmath>
#include <iterator>
#include <numeric>
#include <random>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

// A rank watched for 90 s of 100 that waited 40 s for data.
TimeSpent reporting() {
  TimeSpent spent;
  spent.wall_s = 100;
  spent.reports = true;
  spent.active_s = 90;
  spent.wait_s = 40;
  return spent;
}

}  // namespace

TEST_CASE(
    "waiting time is split by the loader's observed work, up to its amount") {
  SECTION("the loader worked longer than the trainer waited") {
    const WaitSplit split = split_by_kernel(10, {30, 10});
    CHECK(split.prep_s == Approx(7.5));
    CHECK(split.fetch_s == Approx(2.5));
  }
  SECTION("the loader slept for most of the time, for an unknown reason") {
    const WaitSplit split = split_by_kernel(10, {3, 1});
    CHECK(split.prep_s == Approx(3));
    CHECK(split.fetch_s == Approx(1));
  }
  SECTION("no observed work, or no waiting time") {
    CHECK(split_by_kernel(10, {0, 0}).fetch_s == 0);
    CHECK(split_by_kernel(0, {5, 5}).prep_s == 0);
  }
}

TEST_CASE("a loader's own time split takes precedence over the kernel's") {
  TimeSpent spent = reporting();
  spent.by_kernel = {40, 0};
  spent.fetch_s = 10;
  spent.prep_s = 30;
  spent.exchange_s = 5;
  const Breakdown parts = attribute(spent);
  CHECK(*parts.parts.fetch_stall.seconds == Approx(10));
  CHECK(*parts.parts.prep_stall.seconds == Approx(30));
  CHECK(parts.parts.prep_stall.method ==
        "time waited, split as the loader's time was spent");
  CHECK(*parts.parts.exchange_stall.seconds == Approx(5));
  CHECK(*parts.parts.compute.seconds == Approx(45));
  CHECK(parts.unattributed_s == Approx(10));
}

TEST_CASE(
    "without a split from the job, its waiting time is split by the kernel's") {
  TimeSpent spent = reporting();
  spent.by_kernel = {6, 24};
  Breakdown parts = attribute(spent);
  CHECK(*parts.parts.fetch_stall.seconds == Approx(6));
  CHECK(*parts.parts.prep_stall.seconds == Approx(24));
  CHECK(
      parts.parts.fetch_stall.method.starts_with("time waited, split by what"));
  CHECK(*parts.waited_s == Approx(40));
  CHECK(parts.unattributed_s == Approx(20));
  spent.by_kernel = {20, 60};  // more than was waited
  parts = attribute(spent);
  CHECK(*parts.parts.fetch_stall.seconds == Approx(10));
  CHECK(*parts.parts.prep_stall.seconds == Approx(30));
}

TEST_CASE("contention with the job's own loader is prep stall, not compute") {
  TimeSpent spent = reporting();
  spent.contention_s = 20;
  Breakdown parts = attribute(spent);
  CHECK(*parts.parts.compute.seconds == Approx(30));
  CHECK(*parts.parts.prep_stall.seconds == Approx(20));
  CHECK(*parts.contention_s == 20);
  CHECK(parts.parts.prep_stall.method.starts_with(
      "time in which the trainer waited"));
  CHECK(*parts.waited_s == Approx(40));
  spent.fetch_s = 10;
  spent.prep_s = 30;
  parts = attribute(spent);
  CHECK(*parts.parts.prep_stall.seconds == Approx(50));
  CHECK(parts.parts.prep_stall.method.find("run delay") != std::string::npos);
  CHECK_FALSE(attribute(reporting()).contention_s);
}

TEST_CASE("unreported parts are unknown, and their method gives the reason") {
  Breakdown parts = attribute(reporting());
  CHECK_FALSE(parts.parts.fetch_stall.seconds);
  CHECK_FALSE(parts.parts.prep_stall.seconds);
  CHECK_FALSE(parts.parts.exchange_stall.seconds);
  CHECK(parts.parts.fetch_stall.method ==
        "the loader does not report its time");
  CHECK(parts.parts.exchange_stall.method == "the job reports no exchange");
  CHECK(*parts.parts.compute.seconds == Approx(50));
  parts = attribute({.wall_s = 100});
  CHECK_FALSE(parts.parts.compute.seconds);
  CHECK(parts.parts.compute.method == "the job reports no progress");
  CHECK(parts.unattributed_s == Approx(100));
}

TEST_CASE("a job without a page counts its GPUs' busy time as compute") {
  TimeSpent spent{.wall_s = 100, .cpu_pressure_s = 10, .io_pressure_s = 20};
  spent.gpu_busy_s = 60;
  Breakdown parts = attribute(spent);
  CHECK(*parts.parts.compute.seconds == Approx(60));
  CHECK(*parts.parts.fetch_stall.seconds == Approx(20));
  CHECK(*parts.parts.prep_stall.seconds == Approx(10));
  CHECK(parts.parts.compute.method.find("NVML") != std::string::npos);
  // Loaders that read ahead all the time stall nobody while the GPUs work.
  spent.gpu_busy_s = 85;
  parts = attribute(spent);
  CHECK(*parts.parts.compute.seconds == Approx(85));
  CHECK(*parts.parts.fetch_stall.seconds == Approx(10));
  CHECK(*parts.parts.prep_stall.seconds == Approx(5));
  CHECK_FALSE(parts.waited_s);
  spent.reports = true;  // the job's own report takes precedence
  spent.active_s = 90;
  CHECK(*attribute(spent).parts.compute.seconds == Approx(90));
}

TEST_CASE(
    "the parts are never negative and sum to the wall time for any input") {
  const uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> seconds(0, 200);
  std::bernoulli_distribution known(0.6), odd(0.05);
  const double kOdd[] = {std::nan(""), INFINITY, -INFINITY, -5, 1e300, -1e300};
  for (int i = 0; i < 5000; ++i) {
    const auto any = [&] {
      if (odd(random)) return kOdd[random() % std::size(kOdd)];
      return known(random) ? seconds(random) : 0.0;
    };
    TimeSpent spent{.wall_s = 100,
                    .reports = known(random),
                    .active_s = any(),
                    .wait_s = any(),
                    .exchange_s = any(),
                    .fetch_s = any(),
                    .prep_s = any(),
                    .by_kernel = split_by_kernel(any(), {any(), any()})};
    if (known(random)) spent.cpu_pressure_s = any();
    if (known(random)) spent.io_pressure_s = any();
    if (known(random)) spent.gpu_busy_s = any();
    const Breakdown parts = attribute(spent);
    double sum_s = parts.unattributed_s;
    for (const TimePart* part :
         {&parts.parts.compute, &parts.parts.fetch_stall,
          &parts.parts.prep_stall, &parts.parts.exchange_stall}) {
      REQUIRE(part->seconds.value_or(0) >= 0);
      REQUIRE_FALSE(part->method.empty());
      sum_s += part->seconds.value_or(0);
    }
    REQUIRE(sum_s == Approx(100));
    REQUIRE(parts.unattributed_s >= 0);
    REQUIRE(parts.waited_s.value_or(0) <= 100);
    const auto tenths = rounded_shares(parts, 1000);
    REQUIRE(std::accumulate(tenths.begin(), tenths.end(), 0) == 1000);
    for (int share : tenths) REQUIRE(share >= 0);
  }
}
