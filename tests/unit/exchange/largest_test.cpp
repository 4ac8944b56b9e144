#include "exchange/select/largest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/unit/catch.h"

using penstock::exchange::Largest;

namespace {

std::vector<size_t> taken(const std::vector<float>& values, size_t wanted) {
  Largest largest(values, wanted);
  std::vector<size_t> out;
  for (size_t i = 0; i < values.size(); ++i) {
    if (largest.takes(values[i])) out.push_back(i);
  }
  return out;
}

}  // namespace

TEST_CASE("the largest magnitudes are taken, and the first ones of ties") {
  const std::vector<float> values = {1, -3, 2, -2, 3, 2, 0};
  CHECK(taken(values, 0).empty());
  CHECK(taken(values, 1) == std::vector<size_t>{1});
  CHECK(taken(values, 3) == std::vector<size_t>{1, 2, 4});
  CHECK(taken(values, 4) == std::vector<size_t>{1, 2, 3, 4});
  CHECK(taken(values, 6) == std::vector<size_t>{0, 1, 2, 3, 4, 5});
  CHECK(taken(values, 7).size() == 7);
  CHECK(taken(values, 9).size() == 7);
  CHECK(taken({}, 2).empty());
}

TEST_CASE(
    "NaN counts as larger than infinity, and no more elements are taken") {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  CHECK(taken({1, inf, nan, -inf}, 1) == std::vector<size_t>{2});
  CHECK(taken({1, inf, nan, -inf}, 2) == std::vector<size_t>{1, 2});
  CHECK(taken({nan, nan, nan}, 2) == std::vector<size_t>{0, 1});
}

TEST_CASE("the result equals that of a stable sort by magnitude") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int run = 0; run < 300; ++run) {
    std::vector<float> values(random() % 400);
    for (float& value : values) value = float(int(random() % 41) - 20);
    const size_t wanted = random() % 500;
    std::vector<size_t> expected(values.size());
    for (size_t i = 0; i < expected.size(); ++i) expected[i] = i;
    std::stable_sort(expected.begin(), expected.end(), [&](size_t a, size_t b) {
      return std::fabs(values[a]) > std::fabs(values[b]);
    });
    expected.resize(std::min(expected.size(), wanted));
    std::sort(expected.begin(), expected.end());
    CAPTURE(run, wanted);
    CHECK(taken(values, wanted) == expected);
  }
}
