#include "bench/submit/paired.h"

#include <cstdlib>
#include <random>

#include "tests/unit/catch.h"

using namespace penstock;  // NOLINT: the unit under test

TEST_CASE("paired: a constant difference has no width") {
  std::vector<double> with, without;
  for (int i = 0; i < 100; ++i) {
    without.push_back(10 + i % 2);
    with.push_back(without.back() + 1);
  }
  const PairedDifference it = paired_difference(with, without);
  CHECK(it.mean.value == Approx(1 / 10.5));
  CHECK(it.mean.low == Approx(it.mean.high));
  CHECK(it.median.value == Approx(1 / 10.5));
  CHECK(it.median.low == Approx(it.median.high));
}

TEST_CASE("paired: the sign is that of with - without") {
  const std::vector<double> small(50, 1), large(50, 2);
  CHECK(paired_difference(large, small).mean.value == Approx(1));
  CHECK(paired_difference(small, large).median.value == Approx(-0.5));
}

TEST_CASE("paired: 95 of 100 intervals hold the true difference") {
  const char* seed_text = std::getenv("PENSTOCK_TEST_SEED");
  const unsigned seed = seed_text != nullptr
                            ? static_cast<unsigned>(std::atoi(seed_text))
                            : 20261121;
  INFO("PENSTOCK_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, 1);
  int mean_holds = 0, median_holds = 0;
  constexpr int kTries = 2000;
  for (int i = 0; i < kTries; ++i) {
    std::vector<double> with, without(200, 100.0);
    for (size_t j = 0; j < without.size(); ++j)
      with.push_back(100.5 + noise(random));
    const PairedDifference it = paired_difference(with, without);
    mean_holds += it.mean.low <= 0.005 && 0.005 <= it.mean.high;
    median_holds += it.median.low <= 0.005 && 0.005 <= it.median.high;
  }
  // Three standard errors are 0.015.
  CHECK(mean_holds > 0.93 * kTries);
  CHECK(mean_holds < 0.97 * kTries);
  CHECK(median_holds > 0.93 * kTries);
  CHECK(median_holds < 0.985 * kTries);
}
