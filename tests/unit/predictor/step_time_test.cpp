#include "predictor/step_time.h"

#include <algorithm>

#include "tests/unit/catch.h"
#include "tests/unit/predictor/random_profile.h"

namespace penstock {
namespace {

using exchange::ExchangeCosts;
using exchange::Method;

// 10 Gb/s, and no other costs.
constexpr ExchangeCosts kLink{.byte_s = 0.8e-9};

TEST_CASE("layers are exchanged in turn, as computed by hand") {
  // 1 s forward; backward 2 s, 1 s, 3 s. By 1 ns a byte 4 ranks exchange 2, 4
  // and 1 * 1e9 / 6 elements densely in 2, 4 and 1 s.
  constexpr size_t kSecond = 1'000'000'000 / 6;
  const ComputeStep step{
      1, {{2 * kSecond, 2}, {4 * kSecond, 1}, {kSecond, 3}}, 0.5};
  const StepTimes times =
      step_times(step, {.ranks = 4, .costs = {.byte_s = 1e-9}});
  REQUIRE(times.layers.size() == 3);
  const double ready[] = {3, 4, 7};
  const double done[] = {5, 9, 10};  // the second waits for the first
  for (int i = 0; i < 3; ++i) {
    CHECK(times.layers[i].method == Method::kDense);
    CHECK(times.layers[i].ready_s == Approx(ready[i]));
    CHECK(times.layers[i].done_s == Approx(done[i]));
  }
  CHECK(times.exchange_s == Approx(7));
  CHECK(times.busy_s == Approx(7.5));
  CHECK(times.step_s == Approx(10.5));
  CHECK(times.stall_s() == Approx(3));
}

TEST_CASE("an exchange that fits behind the backward pass causes no stall") {
  const ComputeStep step{1, {{1000, 2}, {0, 1}}};
  const StepTimes times = step_times(step, {.ranks = 4, .costs = kLink});
  CHECK(times.exchange_s > 0);
  CHECK(times.stall_s() == 0);
  CHECK(times.step_s == 4);
}

TEST_CASE("selection counts as computing and hides no exchange") {
  const ComputeStep step{0, {{1'000'000, 0.5}, {1'000'000, 0.5}}};
  ExchangeWay way{.ranks = 4,
                  .density = 0.01,
                  .costs = {.byte_s = 1e-9, .select_s = 1e-9},
                  .method = Method::kTwoPhase};
  const StepTimes times = step_times(step, way);
  CHECK(times.layers[0].select_s == Approx(1e-3));
  CHECK(times.layers[0].ready_s == Approx(0.501));
  CHECK(times.busy_s == Approx(1.002));
  // 2 x 1.25 x 3/4 x 10'000 entries of 8 bytes.
  CHECK(times.layers[0].exchange_s == Approx(1.5e-4));
  CHECK(times.step_s == Approx(1.002 + 1.5e-4));
}

TEST_CASE("a layer is selected when its exchange begins") {
  const ComputeStep step{0, {{1'000'000, 0.5}, {2'000'000, 0.1}, {1000, 9}}};
  // Entries of 40 us: 2 x 1.25 x 3/4 x 1% of a layer's elements in 0.75 and
  // 1.5 s. The first is selected in 1 ms, the others in 2 ms and 1 us.
  ExchangeWay way{.ranks = 4,
                  .density = 0.01,
                  .costs = {.byte_s = 5e-6, .select_s = 1e-9},
                  .method = Method::kTwoPhase};
  const StepTimes times = step_times(step, way);
  REQUIRE(times.layers[0].exchange_s == Approx(0.75));
  CHECK(times.layers[0].done_s == Approx(0.501 + 0.75));
  CHECK(times.layers[1].ready_s == Approx(0.501 + 0.102));
  CHECK(times.layers[1].done_s == Approx(1.251 + 0.002 + 1.5));
  CHECK(times.layers[2].done_s == Approx(9.603001 + 0.75e-3));
}

TEST_CASE("110 M parameters, 16 ranks and 10 Gb/s give the known figures") {
  // The slack of 1.25 is in the two phases' figure: without it, 13.2 ms.
  const ComputeStep step = step_of_buckets(0, 110'000'000);
  const auto total_s = [&](Method method, double density) {
    return step_times(step, {16, density, kLink, 1, method}).exchange_s;
  };
  CHECK(total_s(Method::kDense, 1) == Approx(0.660));
  CHECK(total_s(Method::kAllgather, 0.01) == Approx(0.1056));
  CHECK(total_s(Method::kTwoPhase, 0.01) == Approx(0.0165));
}

TEST_CASE("parameters are divided into buckets of 25 MiB") {
  const ComputeStep step = step_of_buckets(3, 20'000'000);
  REQUIRE(step.layers.size() == 4);
  CHECK(step.forward_s == Approx(1));
  CHECK(step.layers[0].elements == 6'553'600);
  CHECK(step.layers[3].elements == 20'000'000 - 3 * 6'553'600);
  double backward_s = 0;
  for (const StepLayer& it : step.layers) backward_s += it.backward_s;
  CHECK(backward_s == Approx(2));
  CHECK(step.layers[0].backward_s == Approx(2 * 6'553'600 / 20e6));
  // Even a model of 1e12 parameters has at most 1024 buckets.
  CHECK(step_of_buckets(3, 1'000'000'000'000).layers.size() == 1024);
}

TEST_CASE("the fastest method is chosen, and at density 1 the dense one") {
  const ComputeStep step = step_of_buckets(1, 6'553'600);
  const auto method = [&](int ranks, double density) {
    return step_times(step,
                      {.ranks = ranks, .density = density, .costs = kLink})
        .layers[0]
        .method;
  };
  CHECK(method(16, 0.01) == Method::kTwoPhase);
  CHECK(method(2, 0.01) == Method::kAllgather);
  CHECK(method(16, 0.5) == Method::kDense);
  CHECK(method(16, 1) == Method::kDense);
  // Messages alone: gathering takes half as many as a dense sum.
  ExchangeWay way{.ranks = 16, .costs = {.message_s = 1e-3}};
  CHECK(step_times(step, way).layers[0].method == Method::kDense);
}

TEST_CASE("one rank exchanges nothing and selects nothing") {
  const ExchangeCosts costs{1e-3, 1e-9, 1e-9, 1e-9, 1e-9};
  const ComputeStep step = step_of_buckets(1, 20'000'000);
  const StepTimes times =
      step_times(step, {.ranks = 1, .density = 0.01, .costs = costs});
  CHECK(times.exchange_s == 0);
  CHECK(times.step_s == Approx(1));
}

TEST_CASE("ranks of a node share its link in sparse exchanges only") {
  const ComputeStep step = step_of_buckets(0, 6'553'600);
  const auto total_s = [&](Method method, int ranks_per_link) {
    return step_times(step, {16, 0.01, kLink, ranks_per_link, method})
        .exchange_s;
  };
  CHECK(total_s(Method::kDense, 8) == Approx(total_s(Method::kDense, 1)));
  CHECK(total_s(Method::kTwoPhase, 8) ==
        Approx(8 * total_s(Method::kTwoPhase, 1)));
}

ComputeStep random_step(Random& random) {
  ComputeStep out;
  out.forward_s = random.scaled(1e-4, 1);
  out.update_s = random.chance(0.5) ? random.scaled(1e-5, 0.1) : 0;
  for (int i = random.whole(0, 30); i > 0; --i)
    out.layers.push_back({size_t(random.scaled(1, 1e8)),
                          random.chance(0.9) ? random.scaled(1e-5, 0.1) : 0});
  return out;
}

ExchangeWay random_way(Random& random) {
  ExchangeWay out;
  out.ranks = random.whole(1, 64);
  out.density = random.chance(0.2) ? 1 : random.scaled(1e-4, 1);
  out.costs = {random.scaled(1e-7, 1e-3), random.scaled(1e-11, 1e-7),
               random.scaled(1e-11, 1e-8), random.scaled(1e-11, 1e-8),
               random.scaled(1e-10, 1e-7)};
  if (random.chance(0.3)) out.ranks_per_link = random.whole(1, 8);
  const Method methods[] = {Method::kDense, Method::kAllgather,
                            Method::kTwoPhase};
  if (random.chance(0.6)) out.method = methods[random.whole(0, 2)];
  return out;
}

TEST_CASE("a step is never shorter than its computing or its exchange") {
  Random random("a step is never shorter");
  for (int i = 0; i < 3000; ++i) {
    const ComputeStep step = random_step(random);
    const StepTimes times = step_times(step, random_way(random));
    double computed_s = step.forward_s + step.update_s;
    for (const StepLayer& it : step.layers) computed_s += it.backward_s;
    double selected_s = 0;
    for (const LayerTimes& it : times.layers) selected_s += it.select_s;
    const double bound = std::max(computed_s + selected_s, times.exchange_s);
    REQUIRE(times.step_s >= bound * (1 - 1e-12));
    // It is never longer than computing, selecting and exchanging in sequence.
    REQUIRE(times.step_s <=
            (computed_s + 2 * selected_s + times.exchange_s) * (1 + 1e-12));
    REQUIRE(times.stall_s() >= 0);
    REQUIRE(times.busy_s == Approx(computed_s + selected_s));
  }
}

TEST_CASE("a higher density or a slower link never shortens a step") {
  Random random("a higher density or a slower link");
  for (int i = 0; i < 3000; ++i) {
    const ComputeStep step = random_step(random);
    ExchangeWay way = random_way(random);
    if (!way.method) way.method = Method::kTwoPhase;
    const double before_s = step_times(step, way).step_s;
    if (random.chance(0.5)) {
      way.density = std::min(1.0, way.density * random.scaled(1, 100));
    } else {
      way.costs.byte_s *= random.scaled(1, 100);
    }
    REQUIRE(step_times(step, way).step_s >= before_s * (1 - 1e-12));
  }
}

TEST_CASE("a stall shrinks at least as much as the exchange") {
  Random random("a stall shrinks");
  int stalls = 0;
  for (int i = 0; i < 3000; ++i) {
    const ComputeStep step = random_step(random);
    ExchangeWay way = random_way(random);
    way.method = Method::kDense;
    way.costs = {.byte_s = way.costs.byte_s};
    const double before_s = step_times(step, way).stall_s();
    const double share = random.real(0, 1);
    way.costs.byte_s *= share;
    REQUIRE(step_times(step, way).stall_s() <= share * before_s + 1e-9);
    stalls += before_s > 1e-6;
  }
  CHECK(stalls > 1000);
}

TEST_CASE("no method is faster for a layer than the chosen one") {
  Random random("no method is faster");
  for (int i = 0; i < 1000; ++i) {
    const ComputeStep step = random_step(random);
    ExchangeWay way = random_way(random);
    way.method.reset();
    if (way.density == 1) way.density = 0.5;
    const auto total_s = [](const LayerTimes& it) {
      return it.select_s + it.exchange_s;
    };
    const StepTimes chosen = step_times(step, way);
    for (const Method method :
         {Method::kDense, Method::kAllgather, Method::kTwoPhase}) {
      way.method = method;
      const StepTimes other = step_times(step, way);
      for (size_t k = 0; k < step.layers.size(); ++k)
        REQUIRE(total_s(chosen.layers[k]) <=
                total_s(other.layers[k]) * (1 + 1e-12));
    }
  }
}

}  // namespace
}  // namespace penstock
