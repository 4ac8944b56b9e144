#include "node_agent/plan/imagined.h"

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

PlanJob job(uint64_t id, CpuSet cpus, double ceiling) {
  const auto exact = [](double value) { return Figure{value, value, value}; };
  PlanJob entry;
  entry.id = id;
  entry.uid = 1000 + uint32_t(id);
  entry.own_cpus = cpus;
  entry.home_cpus = std::move(cpus);
  Prediction& cost = entry.prediction.emplace();
  cost.ceiling_samples_per_s = exact(ceiling);
  cost.loader_cpu_s_per_sample = exact(0.001);
  cost.storage_bytes_per_sample = exact(0);
  cost.demand_cores = exact(ceiling * 0.001);
  cost.demand_bytes_per_s = exact(0);
  entry.elastic = true;
  entry.loader_units = 4;
  return entry;
}

// A job that needs a third of its CPU, and one that needs four CPUs.
PlanInput lender_and_borrower() {
  PlanInput input;
  input.jobs = {job(1, CpuSet({0}), 333), job(2, CpuSet({1}), 4000)};
  input.numa_node_of_cpu = {0, 0, 0};
  input.core_of_cpu = {0, 1, 2};
  return input;
}

bool anything(uint64_t /*lender*/, size_t /*borrower*/) { return true; }

}  // namespace

TEST_CASE("imagined loans are those of the plan, seen from both sides") {
  const PlanInput input = lender_and_borrower();
  const auto plan = make_plan(input);
  auto loans = imagine_loans(input, anything);
  REQUIRE(loans);
  REQUIRE(plan->grants[1].away_cores > 0.5);
  CHECK((*loans)[2].borrowed_cores == Approx(plan->grants[1].away_cores));
  CHECK((*loans)[2].lent_cores == 0);
  CHECK((*loans)[1].borrowed_cores == 0);
  CHECK((*loans)[1].lent_cores == Approx(plan->grants[1].away_cores));
}

TEST_CASE("cores of idle CPUs are lent by no job") {
  PlanInput input = lender_and_borrower();
  input.jobs.erase(input.jobs.begin());
  input.idle_cpus = CpuSet({2});
  const auto loans = imagine_loans(input, anything);
  REQUIRE(loans);
  REQUIRE(loans->size() == 1);
  CHECK(loans->at(2).borrowed_cores == Approx(1));
}

TEST_CASE("what may not be lent is not imagined either") {
  const auto loans = imagine_loans(lender_and_borrower(),
                                   [](uint64_t lender, size_t borrower) {
                                     CHECK(lender == 1);
                                     CHECK(borrower == 1);
                                     return false;
                                   });
  REQUIRE(loans);
  CHECK(loans->empty());
}

TEST_CASE("without a plan there are no loans, but an error") {
  PlanInput input = lender_and_borrower();
  input.jobs[0].weight = -1;
  CHECK_FALSE(imagine_loans(input, anything));
}

TEST_CASE("totals are sums over the observed time") {
  ImaginedTotals totals;
  CHECK(totals.empty());
  totals.add({1.0, 0.0}, 10);
  totals.add({1.04, 0.5}, 20);  // of the same step
  totals.add({0.0, 0.5}, 30);
  totals.add({2.0, 2.0}, 0);
  CHECK_FALSE(totals.empty());
  CHECK(totals.observed_s() == Approx(60));
  CHECK(totals.borrowed_core_s() == Approx(10 + 20.8));
  CHECK(totals.lent_core_s() == Approx(25));
  const auto times = totals.times();
  REQUIRE(times.size() == 2);
  CHECK(times[0].cores == 0);
  CHECK(times[0].seconds == Approx(30));
  CHECK(times[1].cores == Approx(1));
  CHECK(times[1].seconds == Approx(30));
}
