// Max-min and fair on random problems, each against a condition that only its
// optimum meets, tested with Clp.
#include <algorithm>
#include <cmath>

#include "tests/unit/allocator/random_problem.h"
#include "tests/unit/catch.h"
#include "tools/optimum/clp_model.h"

namespace penstock::allocator::testing {
namespace {

constexpr int kMaxMinProblems = 600;
constexpr int kFairProblems = 2000;

double level_of(const Problem& problem, const Allocation& allocation,
                size_t job) {
  return allocation.grants[job].rate / problem.jobs[job].ceiling;
}

// What job `j` could have if nobody at its level or under it lost anything.
// An allocation is max-min fair exactly when no job could have more so.
Result<double> best_level(const Problem& problem, const Allocation& allocation,
                          size_t j) {
  optimum::ClpModel model(problem);
  const double level = level_of(problem, allocation, j);
  for (size_t i = 0; i < problem.jobs.size(); ++i) {
    const bool is_protected =
        level_of(problem, allocation, i) <= level * (1 + 1e-9);
    if (!is_protected) continue;
    const double rate = allocation.grants[i].rate;
    const double low = std::max(problem.jobs[i].floor, rate * (1 - 1e-11));
    model.set_rate_bounds(i, low, problem.jobs[i].ceiling);
  }
  std::vector<double> gains(problem.jobs.size(), 0);
  gains[j] = 1 / problem.jobs[j].ceiling;
  const Result<std::vector<double>> rates = model.maximise(gains);
  if (!rates) return rates.error();
  return (*rates)[j] / problem.jobs[j].ceiling;
}

TEST_CASE("max-min: no job can gain unless one no better off loses") {
  RandomProblems random(test_seed("fairness_property_test max-min"));
  for (int i = 0; i < kMaxMinProblems; ++i) {
    const Problem problem = random.next();
    const Result<Allocation> ours = solve(problem, Objective::kMaxMin);
    INFO("problem " << i << "\n" << describe(problem));
    REQUIRE(ours);
    REQUIRE(broken_rule(problem, *ours) == "");
    double least = level_of(problem, *ours, 0);
    for (size_t j = 0; j < problem.jobs.size(); ++j) {
      const double level = level_of(problem, *ours, j);
      least = std::min(least, level);
      const Result<double> best = best_level(problem, *ours, j);
      INFO("job " << j + 1 << " at level " << level);
      REQUIRE(best);
      REQUIRE(*best <= level + 1e-6);
    }
    REQUIRE(ours->objective == least);
  }
}

// Whether the floors use up a resource that the job needs from rate 0 on.
bool is_shut_out(const Problem& problem, const Job& job) {
  const auto is_used_up = [&](double capacity, auto use) {
    double used = 0;
    for (const Job& other : problem.jobs) used += use(other);
    return used >= capacity * (1 - 1e-9);
  };
  const auto cores = [](const Job& other) {
    return cores_needed(other, other.floor);
  };
  const auto bytes = [](const Job& other) {
    return other.bytes_per_rate * other.floor;
  };
  const auto pool_bytes = [&](const Job& other) {
    return other.pool == job.pool ? bytes(other) : 0;
  };
  if (job.max_cores == 0) return true;
  if (job.cores_curve[0].cores > 0 && is_used_up(problem.cores, cores)) {
    return true;
  }
  if (job.bytes_per_rate == 0) return false;
  if (problem.ingest_bytes_per_s > 0 &&
      is_used_up(problem.ingest_bytes_per_s, bytes)) {
    return true;
  }
  return job.pool >= 0 && is_used_up(problem.pools[job.pool], pool_bytes);
}

// The sum is concave, so no allocation beats x by more than the best
// first-order gain, sum w (y - x)/x over feasible y: that is 0 at the optimum
// and nowhere else. A job that cannot have a rate is held at 0.
TEST_CASE("fair: no direction gains") {
  RandomProblems random(test_seed("fairness_property_test fair"));
  for (int i = 0; i < kFairProblems; ++i) {
    const Problem problem = random.next();
    const Result<Allocation> ours = solve(problem, Objective::kFair);
    INFO("problem " << i << "\n" << describe(problem));
    REQUIRE(ours);
    REQUIRE(broken_rule(problem, *ours) == "");
    optimum::ClpModel model(problem);
    std::vector<double> gains;
    double weights = 0;
    double value = 0;
    for (size_t j = 0; j < problem.jobs.size(); ++j) {
      const Job& job = problem.jobs[j];
      const double rate = ours->grants[j].rate;
      weights += job.weight;
      if (rate == 0) {
        REQUIRE(is_shut_out(problem, job));
        model.set_rate_bounds(j, 0, 0);
      }
      gains.push_back(rate > 0 ? job.weight / rate : 0);
      value += rate > 0 ? job.weight * std::log(rate) : 0;
    }
    const Result<std::vector<double>> best = model.maximise(gains);
    REQUIRE(best);
    double gap = 0;
    for (size_t j = 0; j < problem.jobs.size(); ++j) {
      gap += gains[j] * ((*best)[j] - ours->grants[j].rate);
    }
    REQUIRE(gap <= 1e-8 * weights);  // 1e-9 of ours, the rest is Clp's
    REQUIRE(ours->objective == Approx(value).epsilon(1e-12));
  }
}

}  // namespace
}  // namespace penstock::allocator::testing
