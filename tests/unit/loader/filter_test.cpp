#include "loader/picture/filter.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "loader/data/random.h"
#include "tests/unit/catch.h"

using penstock::Filter;
using penstock::kFilterOne;
using penstock::Random;

namespace {

std::vector<int> weights_of(const Filter& filter, int i) {
  return {filter.weights(i), filter.weights(i) + filter.taps()};
}

}  // namespace

TEST_CASE("a line at its original size keeps its pixels") {
  Filter filter;
  filter.place(3, 8, 8, false);
  for (int i = 0; i < 8; ++i) {
    const auto weights = weights_of(filter, i);
    const auto one = std::find(weights.begin(), weights.end(), kFilterOne);
    REQUIRE(one != weights.end());
    CHECK(filter.first(i) + (one - weights.begin()) == 3 + i);
  }
}

TEST_CASE("halving a line uses the weights of Pillow's filter") {
  Filter filter;
  filter.place(0, 16, 8, false);
  CHECK(filter.taps() == 4);
  // Centres at 1, 3, ...; a triangle of two pixels to both sides: 1 3 3 1.
  CHECK(filter.first(3) == 5);
  const int eighth = kFilterOne / 8;
  CHECK(weights_of(filter, 3) ==
        std::vector<int>{eighth, 3 * eighth, 3 * eighth, eighth});
  // At the edge the filter is truncated to 3 3 1, in sevenths.
  CHECK(filter.first(0) == 0);
  CHECK(weights_of(filter, 0)[0] == Approx(kFilterOne * 3 / 7.0).margin(1));
  CHECK(weights_of(filter, 0)[2] == Approx(kFilterOne / 7.0).margin(1));
  CHECK(weights_of(filter, 0)[3] == 0);
}

TEST_CASE("enlarging a line blends two neighbours") {
  Filter filter;
  filter.place(0, 4, 8, false);
  CHECK(filter.taps() == 2);
  // Output 3 has its centre at 1.75: a quarter of pixel 2.
  CHECK(filter.first(3) == 1);
  CHECK(weights_of(filter, 3) ==
        std::vector<int>{kFilterOne * 3 / 4, kFilterOne / 4});
}

TEST_CASE("a reversed line has its outputs in reverse order") {
  Filter forward;
  Filter backward;
  forward.place(2, 50, 7, false);
  backward.place(2, 50, 7, true);
  for (int i = 0; i < 7; ++i) {
    CHECK(forward.first(i) == backward.first(6 - i));
    CHECK(weights_of(forward, i) == weights_of(backward, 6 - i));
  }
}

TEST_CASE(
    "weights add up to one and stay inside the pixels that the part touches") {
  const uint64_t seed = GENERATE(range(0, 3000));
  CAPTURE(seed);
  Random random(seed);
  const double length = std::exp(random.uniform(0, 10));
  const double begin = random.uniform(0, 1000);
  const int outputs = 1 + static_cast<int>(random.below(300));
  CAPTURE(begin, length, outputs);
  Filter filter;
  filter.place(begin, length, outputs, random.uniform() < 0.5);
  CHECK(filter.touched_begin() == static_cast<int>(begin));
  CHECK(filter.touched_end() >= begin + length - 1e-6);
  CHECK(filter.touched_end() < begin + length + 1);
  for (int i = 0; i < outputs; ++i) {
    const auto weights = weights_of(filter, i);
    REQUIRE(std::accumulate(weights.begin(), weights.end(), 0) == kFilterOne);
    REQUIRE(*std::min_element(weights.begin(), weights.end()) >= 0);
    REQUIRE(filter.first(i) >= filter.touched_begin());
    REQUIRE(filter.first(i) + filter.taps() <= filter.touched_end());
  }
}
