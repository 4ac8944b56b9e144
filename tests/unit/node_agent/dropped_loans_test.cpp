#include "node_agent/plan/dropped_loans.h"

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

// Job 0 borrows CPUs 4 and 5 of job 7, and the idle CPUs 8 and 9. Job 1
// borrows CPU 5 too.
Plan lent_plan() {
  Plan plan;
  plan.grants.resize(2);
  plan.grants[0].away_cpus = CpuSet({4, 5, 8, 9});
  plan.grants[0].away_cores = 4;
  plan.grants[0].loader_threads = 6;
  plan.grants[1].away_cpus = CpuSet({5});
  plan.grants[1].away_cores = 0.5;
  plan.grants[1].loader_threads = 1;
  plan.lender_of_cpu = {{4, 7}, {5, 7}, {8, 0}, {9, 0}};
  return plan;
}

}  // namespace

TEST_CASE("a plan with only permitted loans is unchanged") {
  Plan plan = lent_plan();
  drop_loans(plan, [](uint64_t, size_t) { return true; });
  CHECK(plan.grants == lent_plan().grants);
  CHECK(plan.lender_of_cpu == lent_plan().lender_of_cpu);
}

TEST_CASE("a borrower that loses its lender keeps the idle CPUs") {
  Plan plan = lent_plan();
  drop_loans(plan, [](uint64_t lender, size_t borrower) {
    return lender == 0 || borrower == 1;
  });
  CHECK(plan.grants[0].away_cpus == CpuSet({8, 9}));
  CHECK(plan.grants[0].away_cores == 2);
  CHECK(plan.grants[0].loader_threads == 4);
  CHECK(plan.grants[1] == lent_plan().grants[1]);
  // CPU 5 is still lent to job 1.
  CHECK(plan.lender_of_cpu == std::map<int, uint64_t>{{5, 7}, {8, 0}, {9, 0}});
}

TEST_CASE("a borrower that loses more CPUs than threads keeps one thread") {
  Plan plan = lent_plan();
  plan.grants[0].loader_threads = 3;
  drop_loans(plan, [](uint64_t, size_t) { return false; });
  CHECK(plan.grants[0].away_cpus.empty());
  CHECK(plan.grants[0].away_cores == 0);
  CHECK(plan.grants[0].loader_threads == 1);
  CHECK(plan.grants[1].loader_threads == 1);
  CHECK(plan.lender_of_cpu.empty());
}
