#include "exchange/select/kth_magnitude.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/unit/catch.h"

using namespace penstock::exchange;

namespace {

float by_sorting(std::vector<float> values, size_t k) {
  for (float& value : values) value = std::fabs(value);
  std::sort(values.begin(), values.end(), std::greater<>());
  return values[k - 1];
}

}  // namespace

TEST_CASE("the result equals that of sorting") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int run = 0; run < 300; ++run) {
    const size_t n = std::uniform_int_distribution<size_t>(1, 3000)(random);
    const size_t k = std::uniform_int_distribution<size_t>(1, n)(random);
    CAPTURE(run, n, k);
    std::vector<float> values(n);
    // Ties, numbers of many magnitudes, and numbers with neighbouring bits.
    const int kind = run % 3;
    for (float& value : values) {
      const float drawn = normal(random);
      value = kind == 0   ? drawn
              : kind == 1 ? std::round(drawn * 2)
                          : 1 + std::ldexp(std::round(drawn * 50), -23);
    }
    CHECK(kth_magnitude(values, k) == by_sorting(values, k));
  }
}

TEST_CASE("denormal, infinite and NaN magnitudes are ordered") {
  const float least = std::numeric_limits<float>::denorm_min();
  const float most = std::numeric_limits<float>::max();
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> values = {0,     -least, most,         -infinity,
                                     -0.0f, 1,      std::nanf("")};
  CHECK(std::isnan(kth_magnitude(values, 1)));
  CHECK(kth_magnitude(values, 2) == infinity);
  CHECK(kth_magnitude(values, 3) == most);
  CHECK(kth_magnitude(values, 4) == 1);
  CHECK(kth_magnitude(values, 5) == least);
  CHECK(kth_magnitude(values, 6) == 0);
  CHECK(kth_magnitude(values, 7) == 0);
}
