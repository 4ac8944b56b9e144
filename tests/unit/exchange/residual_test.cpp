#include "exchange/sparse/residual.h"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/unit/catch.h"

using namespace penstock;
using namespace penstock::exchange;

namespace {

Arena memory() { return std::move(*Arena::of(1 << 20)); }

std::vector<float> values_of(const Residual& residual) {
  std::vector<float> values(residual.size());
  residual.read(values);
  return values;
}

}  // namespace

TEST_CASE("both kinds of residual add, select and keep the rest") {
  const bool is_narrow = GENERATE(false, true);
  CAPTURE(is_narrow);
  Arena arena = memory();
  Residual residual = is_narrow ? Residual::bfloat16(5000, arena)
                                : Residual::float32(5000, arena);
  std::vector<float> gradient(5000);
  for (size_t i = 0; i < gradient.size(); ++i) gradient[i] = float(i % 100);
  residual.accumulate(gradient);
  CHECK(values_of(residual) == gradient);
  CHECK(residual.kth_magnitude(50) == 99);
  CHECK(residual.kth_magnitude(51) == 98);

  std::vector<uint32_t> indices(200);
  std::vector<float> values(200);
  const SelectPass found =
      residual.select({}, 1000, 3000, 96, {indices, values});
  CHECK(found.taken == 120);
  CHECK(found.candidates == 120);
  CHECK(indices[0] == 1096);
  CHECK(values[0] == 96);
  const std::vector<float> left = values_of(residual);
  for (size_t i = 0; i < left.size(); ++i) {
    const bool is_taken = i >= 1000 && i < 4000 && gradient[i] >= 96;
    if (left[i] != (is_taken ? 0 : gradient[i])) FAIL("element " << i);
  }
  residual.add({std::vector<uint32_t>{1096}, std::vector<float>{-3}});
  CHECK(values_of(residual)[1096] == -3);
}

TEST_CASE("no more selected elements are taken than fit") {
  Arena arena = memory();
  Residual residual = Residual::bfloat16(5000, arena);
  std::vector<uint32_t> indices(2500);
  std::vector<float> values(2500);
  const SelectPass found = residual.select(std::vector<float>(5000, 8), 0, 5000,
                                           1, {indices, values});
  CHECK(found.taken == 2500);
  CHECK(found.candidates == 5000);
  CHECK(values_of(residual)[2499] == 0);
  CHECK(values_of(residual)[2500] == 8);
}

TEST_CASE("random rounding is unbiased and repeatable") {
  constexpr size_t kElements = 4096;
  constexpr int kSteps = 64;
  Arena arena = memory();
  Residual residual = Residual::bfloat16(kElements, arena);
  Residual again = Residual::bfloat16(kElements, arena);
  // Near 1 bfloat16 has steps of 1/128: rounding to nearest would drop these.
  std::vector<float> gradient(kElements, 1);
  residual.accumulate(gradient);
  again.accumulate(gradient);
  gradient.assign(kElements, 0.001f);
  for (uint64_t step = 1; step <= kSteps; ++step) {
    residual.set_step(step);
    again.set_step(step);
    residual.accumulate(gradient);
    again.accumulate(gradient);
  }
  double sum = 0;
  for (const float value : values_of(residual)) sum += value;
  // The mean of 4096; one deviates by about sqrt(64 x 0.001 / 128) = 0.022.
  CHECK(std::fabs(sum / kElements - (1 + 0.001 * kSteps)) < 0.002);
  CHECK(values_of(residual) == values_of(again));
}

TEST_CASE("extreme values of bfloat16 are preserved") {
  const float most = std::numeric_limits<float>::max();
  const float infinity = std::numeric_limits<float>::infinity();
  Arena arena = memory();
  Residual residual = Residual::bfloat16(5, arena);
  for (uint64_t step = 0; step < 50; ++step) {
    residual.set_step(step);
    residual.write(
        std::vector<float>{most, -most, infinity, -infinity, std::nanf("")});
    const std::vector<float> values = values_of(residual);
    CHECK(std::isfinite(values[0]));
    CHECK(std::isfinite(values[1]));
    CHECK(values[2] == infinity);
    CHECK(values[3] == -infinity);
    CHECK(std::isnan(values[4]));
  }
}
