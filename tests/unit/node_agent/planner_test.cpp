#include <numeric>
#include <random>

#include "tests/unit/catch.h"
#include "tests/unit/node_agent/plan_jobs.h"

using namespace penstock;

namespace {

// A job that needs a third of its CPU and one that needs four CPUs.
PlanInput lender_and_borrower() {
  return two_cpus(
      {job(1, CpuSet({0}), 333, 0.001), job(2, CpuSet({1}), 4000, 0.001)});
}

}  // namespace

TEST_CASE("a stopped job lends all of its cores") {
  PlanInput input = lender_and_borrower();
  input.jobs[0].prediction = prediction(5000, 0.001);
  CHECK(make_plan(input)->grants[1].away_cpus.empty());
  input.jobs[0].stopped = true;
  SECTION("alone") {}
  SECTION("with ranks elsewhere") {
    input.jobs[0].cluster_rate = 900;
    input.jobs[0].cluster_floor = 900;
  }
  SECTION("with pages that contradict the kernel") {
    input.jobs[0].on_entitlement = true;
  }
  auto plan = make_plan(input);
  REQUIRE(plan.ok());
  CHECK(plan->grants[1].away_cpus == CpuSet({0}));
  CHECK(plan->grants[1].away_cores == Approx(1).margin(0.01));
  CHECK(plan->grants[0].away_cpus.empty());
  CHECK(plan->grants[0].home_cores == 1);
}

TEST_CASE("a node with 2048 CPUs is planned, and each CPU is lent once") {
  PlanInput input;
  for (int first = 0; first < 2048; first += 64) {
    std::vector<int> cpus(64);
    std::iota(cpus.begin(), cpus.end(), first);
    const bool lends = first % 128 == 0;
    input.jobs.push_back(job(uint64_t(first) + 1, CpuSet(std::move(cpus)),
                             lends ? 16'000 : 128'000, 0.001));
    input.jobs.back().loader_units = 128;
  }
  input.numa_node_of_cpu.resize(2048);
  for (int cpu = 0; cpu < 2048; ++cpu) input.core_of_cpu.push_back(cpu / 2);
  const Result<Plan> plan = make_plan(input);
  REQUIRE(plan.ok());
  CpuSet lent;
  for (size_t i = 0; i < input.jobs.size(); ++i) {
    const CpuSet& away = plan->grants[i].away_cpus;
    CHECK((away & input.jobs[i].own_cpus).empty());
    CHECK((away & lent).empty());
    CHECK(away.empty() == (i % 2 == 0));
    lent = lent | away;
  }
  CHECK(lent.cpus().back() > 1024);
  // 16 lenders leave 48 of their CPUs idle.
  CHECK(lent.size() >= 16 * 46);
  CHECK(lent.size() <= 16 * 49);
}

// A job that fails the plan would leave all jobs of the node without loans.
TEST_CASE("a job that may use no core is planned with the others") {
  PlanInput input = lender_and_borrower();
  PlanJob none = job(3, CpuSet({0}), 1000, 0.001);
  SECTION("other jobs hold all its CPUs, and its pages contradict the kernel") {
    none.home_cpus = CpuSet();
    none.on_entitlement = true;
  }
  SECTION("its trainer needs all cores, and no loader was found") {
    none.own_cpus = none.home_cpus = CpuSet({2});
    none.prediction.reset();
    none.reserve_cores = 1;
    none.loader_units = 0;
    none.elastic = false;
    input.numa_node_of_cpu = {0, 0, 0};
    input.core_of_cpu = {0, 1, 2};
  }
  input.jobs.push_back(none);
  auto plan = make_plan(input);
  REQUIRE(plan.ok());
  CHECK(plan->grants[1].away_cpus == CpuSet({0}));
  CHECK(plan->grants[2].away_cpus.empty());
}

TEST_CASE("spare cores go to the job that can use them") {
  auto plan = make_plan(lender_and_borrower());
  REQUIRE(plan.ok());
  CHECK(plan->grants[0].away_cpus.empty());
  CHECK(plan->grants[0].home_cores == 1);  // lending narrows nothing
  CHECK(plan->grants[1].away_cpus == CpuSet({0}));
  CHECK(plan->grants[1].away_cores == Approx(0.667).margin(0.01));
  CHECK(plan->grants[1].rate == Approx(1667).epsilon(0.01));
  CHECK(plan->grants[1].floor == Approx(1000));
  CHECK(plan->grants[1].loader_threads == 2);
  CHECK(plan->lender_of_cpu.at(0) == 1);
}

TEST_CASE("Policy=even and a barred lender lend nothing") {
  PlanInput input = lender_and_borrower();
  input.policy = Policy::kEven;
  CHECK(make_plan(input)->grants[1].away_cpus.empty());
  input.policy = Policy::kThroughput;
  input.barred.to_anybody = {1};
  CHECK(make_plan(input)->grants[1].away_cpus.empty());
}

TEST_CASE("Slurm's plan has no loan and no limit") {
  PlanInput input = two_cpus({job(1, CpuSet({0}), 333, 0.001, kMB, 0),
                              job(2, CpuSet({1}), 4000, 0.001, kMB, 0)});
  input.pools = {100 * kMB};
  input.jobs[1].max_bytes_per_s = uint64_t(kMB);
  const Plan plan = slurms_plan(input);
  CHECK(plan.lender_of_cpu.empty());
  REQUIRE(plan.grants.size() == 2);
  for (const PlannedGrant& grant : plan.grants) {
    CHECK(grant.away_cpus.empty());
    CHECK(grant.away_cores == 0);
    CHECK(grant.home_cores == 1);
    CHECK(grant.bytes_per_s == 0);
    CHECK(grant.loader_threads == 1);
  }
}

TEST_CASE("LendAcross=user allows loans only within a user") {
  PlanInput input = lender_and_borrower();
  input.lend_across = LendAcross::kUser;
  CHECK(make_plan(input)->grants[1].away_cpus.empty());
  input.jobs[1].uid = input.jobs[0].uid;
  CHECK(make_plan(input)->grants[1].away_cpus == CpuSet({0}));
}

TEST_CASE(
    "LendAcross=account allows loans only within an account, across its "
    "users") {
  PlanInput input = lender_and_borrower();
  input.lend_across = LendAcross::kAccount;
  input.jobs[0].account = input.jobs[1].account = "physics";
  CHECK(make_plan(input)->grants[1].away_cpus == CpuSet({0}));
  input.jobs[1].account = "chemistry";
  CHECK(make_plan(input)->grants[1].away_cpus.empty());
  input.jobs[1].uid = input.jobs[0].uid;
  CHECK(make_plan(input)->grants[1].away_cpus.empty());
}

TEST_CASE(
    "with LendAcross=account jobs of unknown account lend only within a user") {
  PlanInput input = lender_and_borrower();
  input.lend_across = LendAcross::kAccount;
  CHECK(make_plan(input)->grants[1].away_cpus.empty());
  input.jobs[1].uid = input.jobs[0].uid;
  CHECK(make_plan(input)->grants[1].away_cpus == CpuSet({0}));
  input.jobs[0].account = "physics";
  CHECK(make_plan(input)->grants[1].away_cpus.empty());
}

TEST_CASE("unallocated CPUs are lent") {
  PlanInput input = two_cpus({job(1, CpuSet({1}), 4000, 0.001)});
  input.idle_cpus = CpuSet({0});
  auto plan = make_plan(input);
  CHECK(plan->grants[0].away_cpus == CpuSet({0}));
  CHECK(plan->lender_of_cpu.at(0) == 0);
}

TEST_CASE("CPUs near the borrower's GPUs are lent first") {
  PlanInput input = two_cpus({job(1, CpuSet({0}), 2000, 0.001)});
  input.numa_node_of_cpu = {0, 0, 1, 1};
  input.core_of_cpu = {0, 1, 2, 3};
  input.idle_cpus = CpuSet({1, 2, 3});
  CHECK(make_plan(input)->grants[0].away_cpus == CpuSet({1}));
  input.jobs[0].near_cpus = CpuSet({3});
  CHECK(make_plan(input)->grants[0].away_cpus == CpuSet({3}));
}

TEST_CASE("a job without a recognized loader never borrows") {
  PlanInput input = lender_and_borrower();
  input.jobs[1].loader_units = 0;
  input.jobs[1].elastic = false;
  CHECK(make_plan(input)->grants[1].away_cpus.empty());
}

TEST_CASE("a job limited to its entitlement borrows nothing") {
  PlanInput input = lender_and_borrower();
  input.jobs[1].on_entitlement = true;
  auto plan = make_plan(input);
  CHECK(plan->grants[1].away_cpus.empty());
  CHECK(plan->grants[1].rate == Approx(1000));
}

TEST_CASE("CPUs that two jobs hold are used by both but not lent") {
  PlanInput input = lender_and_borrower();
  for (PlanJob& shared : input.jobs) {
    shared.own_cpus = CpuSet({0, 1});
    shared.home_cpus = CpuSet();
  }
  auto plan = make_plan(input);
  REQUIRE(plan.ok());
  for (const PlannedGrant& grant : plan->grants) {
    CHECK(grant.away_cpus.empty());
    CHECK(grant.loader_threads == 2);
    CHECK(grant.home_cores == 2);
  }
}

TEST_CASE("--loader-threads limits the hint and the loans") {
  PlanInput input = lender_and_borrower();
  input.jobs[1].max_threads = 1;
  auto plan = make_plan(input);
  CHECK(plan->grants[1].loader_threads == 1);
  CHECK(plan->grants[1].away_cpus.empty());
}

TEST_CASE("a job of unknown cost grows by a core while it is saturated") {
  PlanInput input = lender_and_borrower();
  input.jobs[1].prediction.reset();
  input.jobs[1].used_loader_cores = 0.99;
  CHECK(make_plan(input)->grants[1].away_cpus == CpuSet({0}));
  input.jobs[1].used_loader_cores = 0.3;
  auto plan = make_plan(input);
  CHECK(plan->grants[1].away_cpus.empty());
  CHECK(plan->grants[1].in_cores);
  CHECK_FALSE(plan->grants[1].samples_per_s(&PlannedGrant::rate));
  CHECK(plan->grants[0].samples_per_s(&PlannedGrant::rate));
}

TEST_CASE(
    "a job of unknown cost is lent a core while its loader waits for one") {
  PlanInput input = lender_and_borrower();
  input.jobs[1].prediction.reset();
  input.jobs[1].used_loader_cores = 0.3;  // its first seconds
  input.jobs[1].starved = true;
  CHECK(make_plan(input)->grants[1].away_cpus == CpuSet({0}));
  input.jobs[1].loader_units = 0;
  CHECK(make_plan(input)->grants[1].away_cpus.empty());
}

TEST_CASE("bandwidth that one job leaves goes to the job that needs it") {
  PlanInput input = two_cpus({job(1, CpuSet({0}), 100, 0.001, 0, 0),
                              job(2, CpuSet({1}), 40, 0.001, 1 * kMB, 0)});
  input.pools = {48 * kMB};
  auto plan = make_plan(input);
  REQUIRE(plan.ok());
  CHECK(plan->grants[1].entitled_bytes_per_s == Approx(24 * kMB));
  CHECK(plan->grants[1].rate == Approx(40));
  CHECK(plan->grants[1].bytes_per_s >= 40 * kMB);
  CHECK(plan->grants[0].bytes_per_s + plan->grants[1].bytes_per_s <=
        48 * kMB * 1.0001);
}

TEST_CASE("a job that reaches its bandwidth limit gets its entitlement") {
  PlanInput input = two_cpus({job(1, CpuSet({0}), 10, 0.001, 1 * kMB, 0),
                              job(2, CpuSet({1}), 100, 0.001, 1 * kMB, 0)});
  input.pools = {48 * kMB};
  input.jobs[0].pool_pressed = true;  // needs more than predicted
  auto plan = make_plan(input);
  REQUIRE(plan.ok());
  CHECK(plan->grants[0].bytes_per_s >= 24 * kMB * 0.999);
  CHECK(plan->grants[0].bytes_per_s + plan->grants[1].bytes_per_s <=
        48 * kMB * 1.0001);
}

TEST_CASE("jobs that may not lend to each other still share a pool") {
  PlanInput input = two_cpus({job(1, CpuSet({0}), 100, 0.001, 1 * kMB, 0),
                              job(2, CpuSet({1}), 100, 0.001, 1 * kMB, 0)});
  input.lend_across = LendAcross::kUser;
  input.jobs[0].uid = 1000;
  input.jobs[1].uid = 1001;
  input.pools = {48 * kMB};
  auto plan = make_plan(input);
  REQUIRE(plan.ok());
  for (const PlannedGrant& grant : plan->grants) {
    CHECK(grant.rate >= grant.floor * 0.999);
    CHECK(grant.bytes_per_s >= 24 * kMB * 0.999);
  }
}

TEST_CASE("a pool is divided by shares, not by reporting ranks") {
  PlanInput input = two_cpus({job(1, CpuSet({0}), 100, 0.001, 1 * kMB, 0),
                              job(2, CpuSet({1}), 100, 0.001, 1 * kMB, 0)});
  input.pools = {48 * kMB};
  input.jobs[0].ranks = 64;
  CHECK(make_plan(input)->grants[1].entitled_bytes_per_s == Approx(24 * kMB));
  input.jobs[0].shares = 3;
  CHECK(make_plan(input)->grants[1].entitled_bytes_per_s == Approx(12 * kMB));
}

TEST_CASE("a separated loader has its own home CPUs and the floor of these") {
  PlanInput input = two_cpus({job(1, CpuSet({0, 1}), 4000, 0.001)});
  input.jobs[0].max_threads = 1;
  input.jobs[0].apart = true;
  auto plan = make_plan(input);
  REQUIRE(plan.ok());
  CHECK(plan->grants[0].home_cores == Approx(1));
  CHECK(plan->grants[0].floor == Approx(1000));
  CHECK(plan->grants[0].loader_threads == 1);
}

TEST_CASE("--loader-bw caps the bandwidth of a job") {
  PlanInput input = two_cpus({job(1, CpuSet({0}), 100, 0.001, 1 * kMB, 0)});
  input.pools = {48 * kMB};
  input.jobs[0].max_bytes_per_s = uint64_t(8 * kMB);
  CHECK(make_plan(input)->grants[0].bytes_per_s == Approx(8 * kMB));
}

TEST_CASE(
    "on random nodes limits fit, floors hold and no job borrows its own CPUs") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int round = 0; round < 500; ++round) {
    PlanInput input;
    const int jobs = 1 + int(random() % 6);
    for (int i = 0; i < jobs; ++i) {
      PlanJob entry = job(uint64_t(i) + 1, CpuSet({2 * i, 2 * i + 1}),
                          1 + 5000 * unit(random), 1e-4 + 2e-3 * unit(random),
                          unit(random) < 0.5 ? 0 : kMB * unit(random), 0);
      entry.reserve_cores = unit(random);
      entry.pool_pressed = unit(random) < 0.2;
      entry.elastic = unit(random) < 0.7;
      entry.uid = 1000 + uint32_t(random() % 3);
      if (unit(random) < 0.2) entry.prediction.reset();
      input.jobs.push_back(entry);
      for (int k = 0; k < 2; ++k) {
        input.core_of_cpu.push_back(2 * i + k);
        input.numa_node_of_cpu.push_back(0);
      }
    }
    input.pools = {10 * kMB + 100 * kMB * unit(random)};
    if (unit(random) < 0.5) input.lend_across = LendAcross::kUser;
    auto plan = make_plan(input);
    REQUIRE(plan.ok());
    double limits = 0;
    for (size_t i = 0; i < plan->grants.size(); ++i) {
      const PlannedGrant& grant = plan->grants[i];
      limits += grant.bytes_per_s;
      CHECK(grant.rate >= grant.floor * 0.999);
      CHECK((grant.away_cpus & input.jobs[i].home_cpus).empty());
    }
    CHECK(limits <= input.pools[0] * 1.0001);
  }
}
