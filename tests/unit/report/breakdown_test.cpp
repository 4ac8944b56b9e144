#include <cmath>
#include <iostream>
#include <limits>
#include <numeric>
#include <random>

#include "report/report.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

TimePart part(double seconds) { return {seconds, "method"}; }

double sum(const Breakdown& it) {
  return it.compute.seconds.value_or(0) + it.fetch_stall.seconds.value_or(0) +
         it.prep_stall.seconds.value_or(0) + it.unattributed_s;
}

TEST_CASE("a breakdown leaves what is not told unattributed") {
  Breakdown it = make_breakdown(100, part(60), part(20), TimePart{}, 25.0);
  CHECK(*it.compute.seconds == 60);
  CHECK(it.compute.method == "method");
  CHECK(*it.fetch_stall.seconds == 20);
  CHECK_FALSE(it.prep_stall.seconds);
  CHECK(it.unattributed_s == 20);
  CHECK(*it.waited_s == 25);
}

TEST_CASE("parts over the wall time shrink in proportion") {
  Breakdown it = make_breakdown(100, part(150), part(50), part(50), 300.0);
  CHECK(*it.compute.seconds == Approx(50));
  CHECK(*it.fetch_stall.seconds == Approx(25));
  CHECK(*it.prep_stall.seconds == Approx(25));
  CHECK(it.unattributed_s == 0);
  CHECK(*it.waited_s == 100);
}

TEST_CASE("figures that are none count as unknown") {
  double nan = std::nan("");
  double infinite = std::numeric_limits<double>::infinity();
  Breakdown it =
      make_breakdown(10, part(nan), part(infinite), part(-3), infinite);
  CHECK_FALSE(it.compute.seconds);
  CHECK_FALSE(it.fetch_stall.seconds);
  CHECK(*it.prep_stall.seconds == 0);
  CHECK(it.unattributed_s == 10);
  CHECK_FALSE(it.waited_s);
}

TEST_CASE("no wall time gives zeros") {
  for (double wall_s : {0.0, -5.0, std::nan("")}) {
    Breakdown it = make_breakdown(wall_s, part(1), part(1), part(1), 1.0);
    CHECK(it.wall_s == 0);
    CHECK(sum(it) == 0);
    CHECK(rounded_shares(it, 100) == std::array<int, 4>{});
  }
}

TEST_CASE("rounded shares give the lost units to the largest remainders") {
  Breakdown it = make_breakdown(3, part(1), part(1), part(1), std::nullopt);
  CHECK(rounded_shares(it, 100) == std::array<int, 4>{34, 33, 33, 0});
  it = make_breakdown(1000, part(689), part(217), part(94), std::nullopt);
  CHECK(rounded_shares(it, 100) == std::array<int, 4>{69, 22, 9, 0});
  CHECK(rounded_shares(it, 1000) == std::array<int, 4>{689, 217, 94, 0});
}

TEST_CASE("every breakdown adds up, exact and rounded") {
  uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> seconds(-1, 100);
  std::bernoulli_distribution known(0.8);
  for (int i = 0; i < 2000; ++i) {
    auto any = [&] {
      return known(random) ? part(seconds(random)) : TimePart{};
    };
    double wall_s = std::exp(seconds(random) / 10);
    Breakdown it = make_breakdown(wall_s, any(), any(), any(), std::nullopt);
    REQUIRE(sum(it) == Approx(wall_s).epsilon(1e-12));
    REQUIRE(it.unattributed_s >= 0);
    for (int units : {100, 1000}) {
      std::array<int, 4> shares = rounded_shares(it, units);
      REQUIRE(std::accumulate(shares.begin(), shares.end(), 0) == units);
      REQUIRE(std::abs(shares[3] - it.unattributed_s / wall_s * units) <= 1);
      if (!it.compute.seconds) REQUIRE(shares[0] == 0);
    }
  }
}

TEST_CASE("a prediction error needs both figures") {
  using Maybe = std::optional<Estimate>;
  Maybe ten = Estimate::exact(10);
  CHECK(*prediction_error(Estimate::exact(9), ten) == Approx(-0.1));
  CHECK_FALSE(prediction_error(std::nullopt, ten));
  CHECK_FALSE(prediction_error(ten, std::nullopt));
  CHECK_FALSE(prediction_error(ten, Estimate::exact(0)));
}

}  // namespace
}  // namespace penstock
