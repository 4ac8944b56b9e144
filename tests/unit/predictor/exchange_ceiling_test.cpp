#include "predictor/exchange_ceiling.h"

#include "tests/unit/catch.h"
#include "tests/unit/predictor/random_profile.h"

namespace penstock {
namespace {

// 110 M parameters among 16 ranks at 10 Gb/s: 660 ms of dense exchange.
GradientExchange slow_link() {
  return {.parameters = 110'000'000,
          .batch = 32,
          .ranks = 16,
          .costs = {.byte_s = 0.8e-9}};
}

TEST_CASE("a sparse exchange hides behind computing, a dense one does not") {
  const double computing_s = 0.3;
  const StepTimes dense = step_with(slow_link(), computing_s, 1);
  CHECK(dense.exchange_s == Approx(0.660));
  // All but the first bucket's backward pass is exposed.
  CHECK(dense.step_s == Approx(0.1 + 0.2 * 6'553'600 / 110e6 + 0.660));
  const StepTimes sparse = step_with(slow_link(), computing_s, 0.01);
  CHECK(sparse.exchange_s == Approx(0.0165));
  // Every bucket but the last is hidden.
  CHECK(sparse.stall_s() == Approx(sparse.layers.back().exchange_s));
}

TEST_CASE(
    "a ceiling of the same number of ranks includes their dense exchange") {
  const GradientExchange exchange = slow_link();
  const double ceiling = 32 / 0.8;  // a step of 0.8 s
  Result<double> computing_s = compute_s(exchange, ceiling, 16);
  REQUIRE(computing_s);
  CHECK(*computing_s < 0.8);
  CHECK(step_with(exchange, *computing_s, 1).step_s == Approx(0.8));
  // For another number of ranks the whole step counts as computing.
  computing_s = compute_s(exchange, ceiling, 1);
  REQUIRE(computing_s);
  CHECK(*computing_s == Approx(0.8));
}

TEST_CASE("a step shorter than its exchange is refused") {
  const Result<double> refused = compute_s(slow_link(), 32 / 0.5, 16);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::kInvalidArgument);
  CHECK(refused.error().message ==
        "a step took 500 ms, and by these costs the dense exchange of its "
        "gradients alone takes 660 ms: give a faster link, the batch of a "
        "rank, or its right number of parameters");
}

TEST_CASE(
    "the exchange subtracted from a measured step adds up to that step again") {
  Random random("the exchange subtracted from a measured step");
  for (int i = 0; i < 300; ++i) {
    const GradientExchange exchange{
        .parameters = size_t(random.scaled(1, 1e9)),
        .batch = random.scaled(1, 1000),
        .ranks = random.whole(2, 64),
        .costs = {random.scaled(1e-7, 1e-4), random.scaled(1e-11, 1e-8),
                  random.scaled(1e-11, 1e-9)}};
    const double computing_s = random.scaled(1e-3, 10);
    const double step_s = step_with(exchange, computing_s, 1).step_s;
    const Result<double> found =
        compute_s(exchange, exchange.batch / step_s, exchange.ranks);
    REQUIRE(found);
    REQUIRE(*found == Approx(computing_s).epsilon(1e-6));
  }
}

}  // namespace
}  // namespace penstock
