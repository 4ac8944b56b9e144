// Plans of jobs that prepare batches together: each of N jobs bears the N-th
// part of a sample's cost (node_agent/sharers.h).
#include <algorithm>
#include <random>

#include "node_agent/plan/planner.h"
#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr double kRate = 1000;  // of every sharer, samples/s

struct Node {
  PlanInput input;

  int add_cpu() {
    const int cpu = static_cast<int>(input.core_of_cpu.size());
    input.numa_node_of_cpu.push_back(0);
    input.core_of_cpu.push_back(cpu);
    return cpu;
  }
  void add_idle(int cpus) {
    std::vector<int> added(static_cast<size_t>(cpus));
    for (int& cpu : added) cpu = add_cpu();
    input.idle_cpus = CpuSet(added);
  }
  // A job with one CPU that needs `cores`.
  void add_job(double cores) {
    PlanJob job;
    job.id = input.jobs.size() + 1;
    job.uid = 1000;
    job.own_cpus = job.home_cpus = CpuSet({add_cpu()});
    const auto exact = [](double v) { return Figure{v, v, v}; };
    Prediction prediction;
    prediction.ceiling_samples_per_s = exact(kRate);
    prediction.loader_cpu_s_per_sample = exact(cores / kRate);
    prediction.demand_cores = exact(cores);
    job.prediction = prediction;
    job.loader_units = 64;
    job.elastic = true;
    input.jobs.push_back(job);
  }
  void add_sharers(int count, double cores_of_all) {
    for (int i = 0; i < count; ++i) {
      add_job(cores_of_all / count);
      input.jobs.back().share = 7;
    }
  }
};

}  // namespace

TEST_CASE("the CPUs of a share beyond its joint need are lent") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int run = 0; run < 300; ++run) {
    const int sharers = std::uniform_int_distribution(2, 8)(random);
    const double need =
        sharers * std::uniform_real_distribution(0.05, 0.9)(random);
    CAPTURE(run, sharers, need);
    Node node;
    node.add_sharers(sharers, need);
    node.add_job(100);
    const auto plan = make_plan(node.input);
    REQUIRE(plan.ok());
    CHECK(plan->grants.back().away_cores ==
          Approx(sharers - need).margin(0.01 * sharers));
    for (int i = 0; i < sharers; ++i) {
      CHECK(plan->grants[size_t(i)].rate == Approx(kRate).epsilon(0.01));
    }
  }
}

TEST_CASE("CPUs lent to a share are divided evenly between its jobs") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int run = 0; run < 300; ++run) {
    const int sharers = std::uniform_int_distribution(2, 8)(random);
    const int idle = std::uniform_int_distribution(1, 3 * sharers)(random);
    // More than the share can get.
    const double need =
        (sharers + idle) * std::uniform_real_distribution(1.1, 3.0)(random);
    CAPTURE(run, sharers, idle, need);
    Node node;
    node.add_sharers(sharers, need);
    node.add_idle(idle);
    const auto plan = make_plan(node.input);
    REQUIRE(plan.ok());
    double least = 1e9, most = 0, all = 0;
    for (const PlannedGrant& grant : plan->grants) {
      CHECK(grant.rate == Approx(plan->grants[0].rate));
      least = std::min(least, grant.away_cores);
      most = std::max(most, grant.away_cores);
      all += grant.away_cores;
    }
    CHECK(all == Approx(idle).margin(0.05 * sharers));
    CHECK(most - least < 0.1);  // what is under 0.05 cores is not lent
  }
}

TEST_CASE("a sharing job of two ranks has twice the rate, and floors hold") {
  Node node;
  node.add_sharers(3, 30);
  PlanJob& large = node.input.jobs[0];
  large.ranks = 2;
  PlanJob& reserved = node.input.jobs[1];
  reserved.own_cpus = reserved.home_cpus =
      CpuSet({node.add_cpu(), node.add_cpu(), node.add_cpu()});
  SECTION("without loans each job has its floor") {
    const auto plan = make_plan(node.input);
    REQUIRE(plan.ok());
    for (const PlannedGrant& grant : plan->grants) {
      CHECK(grant.rate == Approx(grant.floor));
    }
  }
  SECTION("lent CPUs go to the slower jobs") {
    node.add_idle(3);
    const auto plan = make_plan(node.input);
    REQUIRE(plan.ok());
    CHECK(plan->grants[1].rate == Approx(plan->grants[1].floor));
    CHECK(plan->grants[2].rate > 1.5 * plan->grants[2].floor);
    CHECK(plan->grants[0].rate == Approx(2 * plan->grants[2].rate));
  }
}

TEST_CASE(
    "jobs of several users or shares, or of unknown cost, are planned "
    "separately") {
  Node node;
  node.add_sharers(2, 20);
  SECTION("several users") { node.input.jobs[1].uid = 1001; }
  SECTION("another share") { node.input.jobs[1].share = 8; }
  SECTION("unknown cost") { node.input.jobs[1].prediction.reset(); }
  node.add_idle(3);
  auto apart = node.input;
  for (PlanJob& job : apart.jobs) job.share = 0;
  CHECK(make_plan(node.input)->grants == make_plan(apart)->grants);
}

TEST_CASE("bandwidth is divided evenly within a share") {
  Node node;
  node.add_sharers(3, 0.3);
  node.input.pools = {9e6};
  for (PlanJob& job : node.input.jobs) {
    job.pool = 0;
    job.prediction->storage_bytes_per_sample = Figure{1e5, 1e5, 1e5};
  }
  const auto plan = make_plan(node.input);
  REQUIRE(plan.ok());
  for (const PlannedGrant& grant : plan->grants) {
    CHECK(grant.bytes_per_s == Approx(3e6));
    CHECK(grant.rate == Approx(30));
  }
}
