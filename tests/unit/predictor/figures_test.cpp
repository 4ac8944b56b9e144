#include "predictor/figures.h"

#include <random>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE("products multiply value and interval; unknown stays unknown") {
  const Figure a{2, 1, 3}, b{10, 9, 11};
  const Figure p = product(a, b);
  CHECK(p.value == 20);
  CHECK(p.low == 9);
  CHECK(p.high == 33);
  CHECK_FALSE(product(a, Figure{}).known());
  CHECK_FALSE(product(Figure{}, b).known());
  CHECK(product(a, Figure{0, 0, 0}).known());
}

TEST_CASE("a ratio is the ratio of sums, not the mean of ratios") {
  RatioEstimate estimate;
  estimate.add(1, 1);
  estimate.add(3, 99);
  CHECK(estimate.ratio().value == Approx(0.04));
}

TEST_CASE("a ratio of fewer than two useful pairs is unknown") {
  RatioEstimate none;
  CHECK_FALSE(none.ratio().known());
  RatioEstimate one;
  one.add(1, 10);
  CHECK_FALSE(one.ratio().known());
  one.add(0, 0);  // nothing happened: no second pair
  CHECK_FALSE(one.ratio().known());
  RatioEstimate costs_only;
  costs_only.add(1, 0);
  costs_only.add(1, 0);
  CHECK_FALSE(costs_only.ratio().known());
}

TEST_CASE("exact pairs give an interval of one count") {
  RatioEstimate estimate;
  for (int i = 0; i < 4; ++i) estimate.add(0.5, 25);
  const Figure ratio = estimate.ratio();
  CHECK(ratio.value == Approx(0.02));
  CHECK(ratio.high - ratio.value == Approx(0.02 / 100));
}

TEST_CASE("a ratio without any cost is zero, not unknown") {
  RatioEstimate estimate;
  estimate.add(0, 5);
  estimate.add(0, 5);
  CHECK(estimate.ratio().known());
  CHECK(estimate.ratio().value == 0);
  CHECK(estimate.ratio().high == 0);
}

TEST_CASE("95% intervals hold the truth and shrink (random, seed 7)") {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.1);
  constexpr double kTruth = 0.02;
  constexpr int kRounds = 2000;
  double widths[2] = {0, 0};
  const int pairs[2] = {4, 32};
  for (int size = 0; size < 2; ++size) {
    int held = 0;
    for (int round = 0; round < kRounds; ++round) {
      RatioEstimate estimate;
      for (int i = 0; i < pairs[size]; ++i) {
        const double count = 1000.0 + static_cast<double>(random() % 1000);
        estimate.add(kTruth * count * (1 + noise(random)), count);
      }
      const Figure ratio = estimate.ratio();
      held += ratio.low <= kTruth && kTruth <= ratio.high;
      widths[size] += ratio.high - ratio.low;
    }
    CAPTURE(pairs[size]);
    CHECK(held >= kRounds * 0.93);
    CHECK(held <= kRounds * 0.98);
  }
  CHECK(widths[1] < widths[0] / 2);
}

}  // namespace
}  // namespace penstock
