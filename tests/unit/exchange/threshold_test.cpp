#include "exchange/select/threshold.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "exchange/select/kth_magnitude.h"
#include "exchange/select/select_pass.h"
#include "tests/unit/catch.h"

using namespace penstock::exchange;

namespace {

// A layer whose gradients change slowly and differ in size between weights,
// like real ones; selected elements leave the residual.
struct Layer {
  std::mt19937 random{1};
  std::vector<float> residual, gradient, scale;
  std::vector<uint32_t> indices;
  std::vector<float> values;

  explicit Layer(size_t n)
      : residual(n), gradient(n), scale(n), indices(n), values(n) {
    std::lognormal_distribution<float> sizes;
    for (float& one : scale) one = sizes(random);
  }

  // The number of candidates in a step with gradients of that size.
  size_t step(Threshold& threshold, double size) {
    std::normal_distribution<float> normal(0, float(size));
    for (size_t i = 0; i < gradient.size(); ++i) {
      gradient[i] = scale[i] * normal(random);
    }
    if (threshold.wants_exact()) {
      accumulate_and_select(gradient, residual,
                            std::numeric_limits<float>::max(), 0, {});
      gradient.clear();
      threshold.set_exact(kth_magnitude(residual, 100));
    }
    const SelectPass found = accumulate_and_select(
        gradient, residual, threshold.value(), 0, {indices, values});
    gradient.resize(residual.size());
    threshold.correct(found.candidates);
    return found.candidates;
  }
};

}  // namespace

TEST_CASE("the density stays as requested while gradients shrink") {
  Layer layer(10000);
  Threshold threshold(100, 64);
  std::vector<size_t> found;
  double size = 1;
  for (int step = 0; step < 300; ++step, size *= 0.99) {
    found.push_back(layer.step(threshold, size));
  }
  const double all = std::accumulate(found.begin(), found.end(), 0.0);
  CHECK(all / 300 == Approx(100).epsilon(0.25));
  std::sort(found.begin(), found.end());
  CHECK(found[15] >= 30);
  CHECK(found[285] <= 250);
}

TEST_CASE("a jump is followed in the next step by an exact search") {
  Layer layer(10000);
  Threshold threshold(100, 64);
  for (int step = 0; step < 20; ++step) layer.step(threshold, 1);
  CHECK_FALSE(threshold.wants_exact());
  CHECK(layer.step(threshold, 50) > 1000);
  CHECK(threshold.wants_exact());
  CHECK(layer.step(threshold, 50) == Approx(100).epsilon(0.1));
}

TEST_CASE("the threshold is found exactly at the requested interval") {
  Threshold always(10, 1), seldom(10, 4);
  int exact = 0;
  for (int step = 0; step < 12; ++step) {
    CHECK(always.wants_exact());
    always.set_exact(1);
    always.correct(10);
    if (seldom.wants_exact()) {
      ++exact;
      seldom.set_exact(1);
    }
    seldom.correct(10);
  }
  CHECK(exact == 3);
}

TEST_CASE("the threshold stays positive and normal for any input") {
  Threshold threshold(10, 1000);
  for (const float found :
       {0.0f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    threshold.set_exact(found);
    CHECK(threshold.value() > 0);
    CHECK(std::isnormal(threshold.value()));  // nor flushed to 0
    for (int step = 0; step < 1000; ++step)
      threshold.correct(step % 2 == 0 ? 0 : 10000);
    CHECK(threshold.value() > 0);
    CHECK(std::isnormal(threshold.value()));
  }
}
