// The throughput objective against Clp on random problems.
#include <cmath>

#include "bench/optimum/clp_model.h"
#include "tests/unit/allocator/random_problem.h"
#include "tests/unit/catch.h"

namespace penstock::allocator::testing {
namespace {

constexpr int kProblems = 10000;

TEST_CASE("throughput is feasible and within 1e-6 of Clp's optimum") {
  RandomProblems random(test_seed("throughput_property_test"));
  for (int i = 0; i < kProblems; ++i) {
    const Problem problem = random.next();
    const Result<Allocation> ours = solve(problem, Policy::kThroughput);
    const Result<Allocation> oracle = optimum::throughput_optimum(problem);
    INFO("problem " << i << "\n" << describe(problem));
    INFO((oracle ? "" : oracle.error().message));
    REQUIRE(oracle);
    INFO((ours ? "" : ours.error().message));
    REQUIRE(ours);
    REQUIRE(broken_rule(problem, *ours) == "");
    // Clp lets rates near 0 differ by its own tolerance.
    double weights = 0;
    for (const Job& job : problem.jobs) weights += job.weight;
    REQUIRE(std::abs(ours->objective - oracle->objective) <=
            1e-6 * oracle->objective + 1e-9 * weights);
  }
}

}  // namespace
}  // namespace penstock::allocator::testing
