// Max-min and fair on random problems, each against a condition that only its
// optimum meets, tested with Clp.
#include <algorithm>
#include <cmath>
#include <functional>

#include "bench/optimum/clp_model.h"
#include "tests/unit/allocator/random_problem.h"
#include "tests/unit/catch.h"

namespace penstock::allocator::testing {
namespace {

constexpr int kMaxMinProblems = 600;
constexpr int kFairProblems = 2000;
// Levels closer together are the same.
constexpr double kGain = 1e-6;
// Of a capacity: solve() leaves up to 2e-10 unused, the others give up 1e-11 in
// best_level(), and the rest is Clp's tolerance.
constexpr double kRounding = 3e-10;

double level_of(const Problem& problem, const Allocation& allocation,
                size_t job) {
  return allocation.grants[job].rate / problem.jobs[job].ceiling;
}

// The level that job `j` could reach without loss to a job at its level or
// below. An allocation is max-min fair if and only if no job could reach a
// higher level in this way.
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

// A capacity, and the use of it by a job at a rate.
struct Resource {
  double capacity;
  std::function<double(const Job&, double rate)> use;
};

std::vector<Resource> resources_of(const Problem& problem, const Job& job) {
  std::vector<Resource> resources = {{problem.cores, cores_needed}};
  const auto bytes = [](const Job& other, double rate) {
    return other.bytes_per_rate * rate;
  };
  if (problem.ingest_bytes_per_s > 0) {
    resources.push_back({problem.ingest_bytes_per_s, bytes});
  }
  if (job.pool >= 0) {
    resources.push_back({problem.pools[job.pool],
                         [pool = job.pool](const Job& other, double rate) {
                           return other.pool == pool
                                      ? other.bytes_per_rate * rate
                                      : 0;
                         }});
  }
  return resources;
}

// True if a job is limited by a full resource and gains only by kRounding of
// it: a very cheap rate rises far by that. False for a rate of zero cost.
bool is_rounding(const Problem& problem, const Allocation& allocation, size_t j,
                 double level) {
  const Job& job = problem.jobs[j];
  const double granted = level_of(problem, allocation, j);
  for (const Resource& resource : resources_of(problem, job)) {
    const auto needs = [&](double other_level) {
      return (resource.use(job, other_level * job.ceiling) -
              resource.use(job, allocation.grants[j].rate)) /
             (resource.capacity > 0 ? resource.capacity : 1);  // as Clp's unit
    };
    double used = 0;
    for (size_t i = 0; i < problem.jobs.size(); ++i) {
      used += resource.use(problem.jobs[i], allocation.grants[i].rate);
    }
    if (used >= resource.capacity * (1 - 1e-9) && needs(granted + kGain) > 0 &&
        needs(level) <= kRounding) {
      return true;
    }
  }
  return false;
}

TEST_CASE(
    "max-min: no job can gain without a loss to a job at its level or below") {
  RandomProblems random(test_seed("fairness_property_test max-min"));
  for (int i = 0; i < kMaxMinProblems; ++i) {
    const Problem problem = random.next();
    const Result<Allocation> ours = solve(problem, Policy::kMaxMin);
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
      if (*best > level + kGain) {
        REQUIRE(is_rounding(problem, *ours, j, *best));
      }
    }
    REQUIRE(ours->objective == least);
  }
}

// True if the floors fill a resource that the job needs from rate 0 on.
bool is_shut_out(const Problem& problem, const Job& job) {
  if (job.max_cores == 0) return true;
  for (const Resource& resource : resources_of(problem, job)) {
    double used = 0;
    for (const Job& other : problem.jobs) {
      used += resource.use(other, other.floor);
    }
    const bool is_used_up = used >= resource.capacity * (1 - 1e-9);
    if (is_used_up && resource.use(job, job.ceiling * kGain) > 0) return true;
  }
  return false;
}

// The sum is concave, so no allocation beats x by more than the best
// first-order gain, sum w (y - x)/x over feasible y: that is 0 at the optimum
// and nowhere else. A job that cannot have a rate is held at 0.
TEST_CASE("fair: no feasible direction has a first-order gain") {
  RandomProblems random(test_seed("fairness_property_test fair"));
  for (int i = 0; i < kFairProblems; ++i) {
    const Problem problem = random.next();
    const Result<Allocation> ours = solve(problem, Policy::kFair);
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
    REQUIRE(gap <= 1e-8 * weights);  // 1e-9 for our solver, the rest for Clp
    REQUIRE(ours->objective == Approx(value).epsilon(1e-12));
  }
}

}  // namespace
}  // namespace penstock::allocator::testing
