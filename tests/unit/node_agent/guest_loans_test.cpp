// Guests in a plan: planner.h, guest_loans.h.
#include "node_agent/plan/guest_loans.h"

#include "tests/unit/catch.h"
#include "tests/unit/node_agent/plan_jobs.h"

using namespace penstock;

namespace {

// A job without GPUs that Slurm placed on CPUs of others, and that uses so many
// cores.
PlanJob guest(uint64_t id, double used_cores = 0) {
  PlanJob entry;
  entry.id = id;
  entry.uid = 1000 + uint32_t(id);
  entry.own_cpus = CpuSet({0});
  entry.guest = true;
  entry.elastic = true;
  entry.used_loader_cores = used_cores;
  return entry;
}

PlanInput four_cpus(std::vector<PlanJob> jobs) {
  PlanInput input = two_cpus(std::move(jobs));
  input.numa_node_of_cpu = {0, 0, 0, 0};
  input.core_of_cpu = {0, 1, 2, 3};
  return input;
}

}  // namespace

TEST_CASE("a guest gets the CPUs that the others leave") {
  const PlanInput input =
      four_cpus({guest(3, 4), job(1, CpuSet({0, 1}), 500, 0.001),
                 job(2, CpuSet({2, 3}), 2500, 0.001)});
  const auto plan = make_plan(input);
  REQUIRE(plan.ok());
  // Job 2 borrows half a CPU of job 1's. The guest has the other one.
  CHECK(plan->grants[2].away_cores == Approx(0.5).margin(0.01));
  CHECK(plan->grants[0].away_cpus.size() == 1);
  CHECK((plan->grants[0].away_cpus & plan->grants[2].away_cpus).empty());
  CHECK(plan->grants[0].home_cores == 0);
  const int cpu = plan->grants[0].away_cpus.cpus().front();
  CHECK(plan->lender_of_cpu.at(cpu) == 1);
}

TEST_CASE("the others' grants are the same with a guest as without") {
  for (const Policy policy : {Policy::kThroughput, Policy::kMaxMin}) {
    PlanInput input = four_cpus({job(1, CpuSet({0}), 300, 0.001),
                                 job(2, CpuSet({1}), 4000, 0.001, 1000, 0),
                                 job(4, CpuSet({2, 3}), 900, 0.001, 1000, 0)});
    input.policy = policy;
    input.pools = {1e9};
    const auto alone = make_plan(input);
    for (int i = 0; i < 3; ++i) {
      PlanJob it = guest(uint64_t(10 + i), i);
      it.pool = 0;
      input.jobs.push_back(it);
    }
    const auto beside = make_plan(input);
    REQUIRE(alone.ok());
    REQUIRE(beside.ok());
    for (size_t j = 0; j < 3; ++j) {
      CHECK(beside->grants[j].rate == Approx(alone->grants[j].rate));
      CHECK(beside->grants[j].away_cpus == alone->grants[j].away_cpus);
      CHECK(beside->grants[j].entitled_bytes_per_s ==
            alone->grants[j].entitled_bytes_per_s);
      // Of pool 0, a sample takes 1000 bytes.
      CHECK((input.jobs[j].pool < 0 ||
             beside->grants[j].bytes_per_s >= 1000 * beside->grants[j].rate));
    }
    CHECK(beside->grants[3].bytes_per_s > 0);  // 0 would be no limit
  }
}

TEST_CASE("a lender that guests harmed lends to others only") {
  PlanInput input = four_cpus({guest(3, 4), job(1, CpuSet({0, 1}), 500, 0.001),
                               job(2, CpuSet({2, 3}), 2500, 0.001)});
  input.barred.to_guests = {1};
  const auto plan = make_plan(input);
  REQUIRE(plan.ok());
  CHECK(plan->grants[0].away_cpus.empty());
  CHECK(plan->grants[2].away_cores == Approx(0.5).margin(0.01));
}

TEST_CASE("a guest's wish follows its use, up to its user's limit") {
  const auto lent = [](const PlanJob& it) {
    PlanInput input = four_cpus({it});
    input.idle_cpus = CpuSet({1, 2, 3});
    return make_plan(input)->grants[0].away_cpus.size();
  };
  CHECK(lent(guest(1, 0)) == 1);
  CHECK(lent(guest(1, 1)) == 3);
  PlanJob limited = guest(1, 1);
  limited.max_threads = 2;
  CHECK(lent(limited) == 2);
  SECTION("which its own CPUs fulfil in part") {
    limited.home_cpus = limited.own_cpus;
    CHECK(lent(limited) == 1);
  }
  SECTION("while it is stopped") {
    limited.stopped = true;
    CHECK(lent(limited) == 0);
  }
}

TEST_CASE("a guest lends nothing, and borrows only where it may") {
  PlanInput input = two_cpus({guest(1, 2), job(2, CpuSet({1}), 4000, 0.001)});
  input.jobs[0].home_cpus = input.jobs[0].own_cpus;
  CHECK(make_plan(input)->grants[1].away_cpus.empty());
  input.jobs[1].stopped = true;
  CHECK(make_plan(input)->grants[0].away_cpus == CpuSet({1}));
  input.lend_across = LendAcross::kUser;
  CHECK(make_plan(input)->grants[0].away_cpus.empty());
}

TEST_CASE("idle CPUs go to every user's residents before any guest") {
  PlanInput input = four_cpus({guest(1, 4), job(2, CpuSet({1}), 4000, 0.001)});
  input.idle_cpus = CpuSet({2, 3});
  input.lend_across = LendAcross::kUser;
  const auto plan = make_plan(input);
  REQUIRE(plan.ok());
  CHECK(plan->grants[1].away_cpus == CpuSet({2, 3}));
  CHECK(plan->grants[0].away_cpus.empty());
}

TEST_CASE("a guest with known costs is planned in cores") {
  PlanJob it = guest(1, 1);
  it.prediction = prediction(1000, 0.001);
  PlanInput input = four_cpus({it});
  input.idle_cpus = CpuSet({1, 2, 3});
  const auto plan = make_plan(input);
  CHECK(plan->grants[0].in_cores);
  CHECK(plan->grants[0].rate == 3);
}

TEST_CASE("all guests together get one job's part of unused bandwidth") {
  PlanInput input = four_cpus({job(9, CpuSet({3}), 100, 0.001, 0, 0)});
  for (uint64_t id = 1; id <= 4; ++id) {
    input.jobs.push_back(guest(id));
    input.jobs.back().pool = 0;
  }
  input.pools = {80 * kMB};
  const auto plan = make_plan(input);
  CHECK(plan->grants[0].bytes_per_s == Approx(40 * kMB));
  for (size_t j = 1; j < 5; ++j) {
    CHECK(plan->grants[j].bytes_per_s == Approx(10 * kMB));
  }
}

TEST_CASE("a guest is lent whole cores, no hardware thread beside an owner's") {
  PlanInput input =
      four_cpus({guest(3, 4), job(1, CpuSet({0, 1, 2, 3}), 1000, 0.001)});
  input.core_of_cpu = {0, 0, 1, 1};
  CHECK(make_plan(input)->grants[0].away_cpus.size() == 2);
  input.jobs[1].prediction = prediction(2500, 0.001);
  CHECK(make_plan(input)->grants[0].away_cpus.empty());
}
