#include "exchange/plan/cost_model.h"

#include "tests/unit/catch.h"

using namespace penstock::exchange;

namespace {

constexpr size_t kElements = 16'000'000;
// 1 Gb/s, and no other costs.
constexpr ExchangeCosts kSlowLink{.byte_s = 8e-9};

double seconds(Method method, int ranks, double density,
               const ExchangeCosts& costs = kSlowLink) {
  return exchange_s(method, {kElements, ranks, density}, costs);
}

}  // namespace

TEST_CASE("by bandwidth alone the methods cross at the known densities") {
  for (const int ranks : {3, 4, 8, 64}) {
    CAPTURE(ranks);
    const double few = 0.99 / ranks, many = 1.01 / ranks;
    CHECK(seconds(Method::kAllgather, ranks, few) <
          seconds(Method::kDense, ranks, few));
    CHECK(seconds(Method::kAllgather, ranks, many) >
          seconds(Method::kDense, ranks, many));
    CHECK(seconds(Method::kTwoPhase, ranks, 0.399) <
          seconds(Method::kDense, ranks, 0.399));
    CHECK(seconds(Method::kTwoPhase, ranks, 0.401) >
          seconds(Method::kDense, ranks, 0.401));
    CHECK(cheapest({kElements, ranks, 0.01}, kSlowLink) == Method::kTwoPhase);
    CHECK(cheapest({kElements, ranks, 0.5}, kSlowLink) == Method::kDense);
  }
  CHECK(cheapest({kElements, 2, 0.01}, kSlowLink) == Method::kAllgather);
}

TEST_CASE("16 M floats over four ranks at 1 Gb/s take the calculated times") {
  // 2 x 3/4 x 64 MB, and 2 x 1.25 x 3/4 x 1.28 MB.
  CHECK(seconds(Method::kDense, 4, 1) == Approx(0.768));
  CHECK(seconds(Method::kTwoPhase, 4, 0.01) == Approx(0.0192));
  CHECK(seconds(Method::kAllgather, 4, 0.01) == Approx(0.03072));
}

TEST_CASE("if selecting costs more than the link, the dense method is chosen") {
  ExchangeCosts fast{.byte_s = 1e-11, .select_s = 8e-9};
  CHECK(cheapest({kElements, 8, 0.001}, fast) == Method::kDense);
  fast.select_s = 0;
  CHECK(cheapest({kElements, 8, 0.001}, fast) == Method::kTwoPhase);
}

TEST_CASE("small layers use the method with the fewest messages") {
  const ExchangeCosts late{.message_s = 1e-4, .byte_s = 8e-9};
  CHECK(cheapest({1000, 64, 0.01}, late) == Method::kAllgather);
  CHECK(exchange_s(Method::kTwoPhase, {1000, 64, 0.01}, late) >
        exchange_s(Method::kDense, {1000, 64, 0.01}, late));
}

TEST_CASE("few ranks on a fast link use allgather instead of two phases") {
  constexpr ExchangeCosts kFast{.byte_s = 2e-10, .record_s = 4e-9};
  for (const double density : {0.001, 0.01, 0.1}) {
    CAPTURE(density);
    CHECK(seconds(Method::kAllgather, 4, density, kFast) <
          seconds(Method::kTwoPhase, 4, density, kFast));
    CHECK(seconds(Method::kAllgather, 16, density, kFast) >
          seconds(Method::kTwoPhase, 16, density, kFast));
  }
}

TEST_CASE("a single rank pays for its selection only") {
  const ExchangeCosts costs{1, 1, 1, 2, 0};
  CHECK(exchange_s(Method::kDense, {10, 1, 0.5}, costs) == 0);
  CHECK(exchange_s(Method::kTwoPhase, {10, 1, 0.5}, costs) == 20);
  CHECK(exchange_s(Method::kAllgather, {10, 1, 0.5}, costs) == 20);
  CHECK(cheapest({10, 1, 0.5}, costs) == Method::kDense);
}
