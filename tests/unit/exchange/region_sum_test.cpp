#include "exchange/sparse/region_sum.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "exchange/sparse/regions.h"
#include "tests/unit/catch.h"

using namespace penstock::exchange;

namespace {

struct Entries {
  std::vector<uint32_t> indices;
  std::vector<float> values;
  SparseView view() const { return {indices, values}; }
};

struct Taken {
  Entries entries;
  std::vector<float> residual;
};

constexpr size_t kMemory = 1 << 20;

// Takes the sums of a region that begins at `first`, with the rest.
Taken take(RegionSum& sum, size_t room, size_t first, size_t region) {
  Taken out;
  Arena arena = std::move(*Arena::of(kMemory));
  Residual residual = Residual::float32(first + region, arena);
  out.entries.indices.resize(room);
  out.entries.values.resize(room);
  std::vector<uint32_t> indices(region);
  std::vector<float> values(region);
  const size_t taken = sum.take({out.entries.indices, out.entries.values},
                                {indices, values}, residual);
  std::vector<float> left(first + region);
  residual.read(left);
  out.residual.assign(left.begin() + std::ptrdiff_t(first), left.end());
  out.entries.indices.resize(taken);
  out.entries.values.resize(taken);
  return out;
}

}  // namespace

TEST_CASE("each element of a layer belongs to one region") {
  for (const size_t elements : {0, 1, 15, 16, 17, 1000, 4096}) {
    for (const int ranks : {1, 2, 3, 5, 8, 100}) {
      CAPTURE(elements, ranks);
      const Regions regions(elements, ranks);
      size_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        CHECK(regions.begin(rank) == next);
        CHECK((regions.begin(rank) % 16 == 0 || regions.size(rank) == 0));
        CHECK(regions.size(rank) <= regions.largest());
        next += regions.size(rank);
      }
      CHECK(next == elements);
    }
  }
}

TEST_CASE("the largest sums are taken, the others stay, and none is lost") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  Arena arena = std::move(*Arena::of(kMemory));
  RegionSum sum(500, 2000, arena);
  for (int run = 0; run < 300; ++run) {
    const size_t region = std::uniform_int_distribution<size_t>(1, 500)(random);
    const size_t room = std::uniform_int_distribution<size_t>(0, 300)(random);
    const uint32_t first = uint32_t(run) * 16;
    CAPTURE(run, region, room);
    std::map<uint32_t, float> expected;
    sum.begin(first, region);
    for (int rank = 0; rank < 4; ++rank) {
      Entries entries;
      for (uint32_t i = 0; i < region; ++i) {
        if (random() % 3 != 0) continue;
        entries.indices.push_back(first + i);
        // Whole numbers: sums are exact, ties and cancellation are common.
        entries.values.push_back(float(int(random() % 21) - 10));
        expected[first + i] += entries.values.back();
      }
      sum.add(entries.view());
    }
    const Taken taken = take(sum, room, first, region);
    std::erase_if(expected, [](const auto& one) { return one.second == 0; });
    CHECK(taken.entries.indices.size() == std::min(room, expected.size()));
    CHECK(std::is_sorted(taken.entries.indices.begin(),
                         taken.entries.indices.end()));
    float least = 1e9, most_left = 0;
    for (size_t i = 0; i < taken.entries.indices.size(); ++i) {
      const uint32_t index = taken.entries.indices[i];
      CHECK(taken.entries.values[i] == expected.at(index));
      CHECK(taken.residual[index - first] == 0);
      least = std::min(least, std::fabs(expected.at(index)));
      expected.erase(index);
    }
    for (const auto& [index, value] : expected) {
      CHECK(taken.residual[index - first] == value);
      most_left = std::max(most_left, std::fabs(value));
    }
    if (room > 0) CHECK(most_left <= least);
  }
}

TEST_CASE("NaN is passed on before all other elements") {
  Arena arena = std::move(*Arena::of(kMemory));
  RegionSum sum(32, 8, arena);
  sum.begin(0, 32);
  const float nan = std::nanf("");
  sum.add({std::vector<uint32_t>{3, 9, 20}, std::vector<float>{5, nan, 7}});
  const Taken taken = take(sum, 2, 0, 32);
  REQUIRE(taken.entries.indices == std::vector<uint32_t>{9, 20});
  CHECK(std::isnan(taken.entries.values[0]));
  CHECK(taken.residual[3] == 5);
}
