#include <cmath>
#include <iostream>
#include <limits>
#include <numeric>
#include <random>

#include "report/report.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

using Shares = std::array<int, kBreakdownParts>;

TimePart part(double seconds) { return {seconds, "method"}; }

double sum(const Breakdown& it) {
  return it.parts.compute.seconds.value_or(0) +
         it.parts.fetch_stall.seconds.value_or(0) +
         it.parts.prep_stall.seconds.value_or(0) +
         it.parts.exchange_stall.seconds.value_or(0) + it.unattributed_s;
}

TEST_CASE("the table of wall parts and their values have the same order") {
  PerWallPart<int> values{
      .compute = 0, .fetch_stall = 1, .prep_stall = 2, .exchange_stall = 3};
  for (size_t i = 0; i < kWallParts.size(); ++i) {
    CHECK(size_t(kWallParts[i].part) == i);
    CHECK(values[kWallParts[i].part] == int(i));
    CHECK(kWallParts[i].seconds_key == std::string(kWallParts[i].key) + "_s");
    CHECK(is_stall(kWallParts[i].part) == (kWallParts[i].awaited[0] != 0));
  }
}

TEST_CASE("contention is at most the prep stall") {
  CHECK(
      *make_breakdown(
           {.wall_s = 10, .parts = {.prep_stall = {{2.0}}}, .contention_s = 3})
           .contention_s == 2);
  CHECK(*make_breakdown({.wall_s = 10, .contention_s = 3}).contention_s == 0);
}

TEST_CASE("time without a reported part is unattributed") {
  Breakdown it =
      make_breakdown({.wall_s = 100,
                      .parts = {.compute = part(60), .fetch_stall = part(20)},
                      .waited_s = 25.0});
  CHECK(*it.parts.compute.seconds == 60);
  CHECK(it.parts.compute.method == "method");
  CHECK(*it.parts.fetch_stall.seconds == 20);
  CHECK_FALSE(it.parts.prep_stall.seconds);
  CHECK(it.unattributed_s == 20);
  CHECK(*it.waited_s == 25);
}

TEST_CASE("parts beyond the wall time are scaled down in proportion") {
  Breakdown it = make_breakdown({.wall_s = 100,
                                 .parts = {.compute = part(150),
                                           .fetch_stall = part(50),
                                           .prep_stall = part(50),
                                           .exchange_stall = part(150)},
                                 .waited_s = 300.0});
  CHECK(*it.parts.compute.seconds == Approx(100 / 3.0));
  CHECK(*it.parts.fetch_stall.seconds == Approx(50 / 3.0));
  CHECK(*it.parts.prep_stall.seconds == Approx(50 / 3.0));
  CHECK(*it.parts.exchange_stall.seconds == Approx(100 / 3.0));
  CHECK(it.unattributed_s == 0);
  CHECK(*it.waited_s == 100);
}

TEST_CASE("NaN and infinity count as unknown") {
  double nan = std::nan("");
  double infinite = std::numeric_limits<double>::infinity();
  Breakdown it = make_breakdown({.wall_s = 10,
                                 .parts = {.compute = part(nan),
                                           .fetch_stall = part(infinite),
                                           .prep_stall = part(-3)},
                                 .waited_s = infinite});
  CHECK_FALSE(it.parts.compute.seconds);
  CHECK_FALSE(it.parts.fetch_stall.seconds);
  CHECK(*it.parts.prep_stall.seconds == 0);
  CHECK(it.unattributed_s == 10);
  CHECK_FALSE(it.waited_s);
}

TEST_CASE("without wall time all parts are zero") {
  for (double wall_s : {0.0, -5.0, std::nan("")}) {
    Breakdown it = make_breakdown({.wall_s = wall_s,
                                   .parts = {.compute = part(1),
                                             .fetch_stall = part(1),
                                             .prep_stall = part(1)},
                                   .waited_s = 1.0});
    CHECK(it.wall_s == 0);
    CHECK(sum(it) == 0);
    CHECK(rounded_shares(it, 100) == Shares{});
  }
}

TEST_CASE("units lost by rounding go to the largest remainders") {
  Breakdown it = make_breakdown(
      {.wall_s = 3,
       .parts = {
           .compute = part(1), .fetch_stall = part(1), .prep_stall = part(1)}});
  CHECK(rounded_shares(it, 100) == Shares{34, 33, 33, 0, 0});
  it = make_breakdown({.wall_s = 1000,
                       .parts = {.compute = part(689),
                                 .fetch_stall = part(217),
                                 .prep_stall = part(64),
                                 .exchange_stall = part(30)}});
  CHECK(rounded_shares(it, 100) == Shares{69, 22, 6, 3, 0});
  CHECK(rounded_shares(it, 1000) == Shares{689, 217, 64, 30, 0});
}

TEST_CASE("every breakdown adds up, before and after rounding") {
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
    Breakdown it = make_breakdown({.wall_s = wall_s,
                                   .parts = {.compute = any(),
                                             .fetch_stall = any(),
                                             .prep_stall = any(),
                                             .exchange_stall = any()}});
    REQUIRE(sum(it) == Approx(wall_s).epsilon(1e-12));
    REQUIRE(it.unattributed_s >= 0);
    for (int units : {100, 1000}) {
      Shares shares = rounded_shares(it, units);
      REQUIRE(std::accumulate(shares.begin(), shares.end(), 0) == units);
      REQUIRE(std::abs(shares[4] - it.unattributed_s / wall_s * units) <= 1);
      if (!it.parts.compute.seconds) REQUIRE(shares[0] == 0);
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
