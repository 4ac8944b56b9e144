#include "bench/exchange/warm_start.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "exchange/select/select_pass.h"
#include "tests/unit/catch.h"

using namespace penstock::exchange;

namespace {

constexpr size_t kElements = size_t{1} << 18;

std::vector<float> gradient_of(int rank, uint32_t step) {
  std::vector<float> out(kElements);
  GradientStream(rank).fill(step, out);
  return out;
}

}  // namespace

TEST_CASE("gradients differ by step and rank and are repeatable") {
  CHECK(gradient_of(0, 3) == gradient_of(0, 3));
  CHECK(gradient_of(0, 3) != gradient_of(0, 4));
  CHECK(gradient_of(0, 3) != gradient_of(1, 3));
  const std::vector<float> gradient = gradient_of(0, 0);
  CHECK(
      std::ranges::all_of(gradient, [](float x) { return std::isfinite(x); }));
  const auto negative =
      std::ranges::count_if(gradient, [](float x) { return x < 0; });
  CHECK(double(negative) / kElements == Approx(0.5).epsilon(0.02));
}

TEST_CASE("after a warm start a step finds the wanted density") {
  for (const double density : {0.01, 0.1}) {
    CAPTURE(density);
    const GradientStream stream(0);
    std::vector<float> residual(kElements), gradient(kElements);
    const WarmStart warm = warm_start(stream, density, residual);
    std::vector<float> values(kElements);
    std::vector<uint32_t> indices(kElements);
    stream.fill(warm.steps, gradient);
    const SelectPass found = accumulate_and_select(
        gradient, residual, warm.threshold, 0, {indices, values});
    CHECK(double(found.candidates) ==
          Approx(density * kElements).epsilon(0.15));
  }
}

TEST_CASE("a layer longer than the sample repeats the sample") {
  std::vector<float> residual(kElements + 100);
  warm_start(GradientStream(0), 0.1, residual);
  CHECK(std::equal(residual.begin() + kElements, residual.end(),
                   residual.begin()));
  CHECK(residual[1] != residual[2]);
}
