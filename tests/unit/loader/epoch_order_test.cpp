#include "penstock/loader/epoch_order.h"

#include <cstdint>
#include <vector>

#include "tests/unit/catch.h"

using penstock::EpochOrder;

TEST_CASE("each epoch is a permutation of the samples") {
  const uint64_t count = GENERATE(1, 2, 3, 4, 5, 16, 17, 1000, 4097);
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    const EpochOrder order(count, 42);
    std::vector<int> seen(count);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t sample = order.sample_at(epoch, i);
      REQUIRE(sample < count);
      ++seen[sample];
    }
    CHECK(seen == std::vector<int>(count, 1));
  }
}

TEST_CASE("the order is shuffled and depends on seed and epoch") {
  const EpochOrder order(1000, 1);
  const EpochOrder other(1000, 2);
  int as_next_epoch = 0;
  int as_other_seed = 0;
  int in_place = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    as_next_epoch += order.sample_at(0, i) == order.sample_at(1, i);
    as_other_seed += order.sample_at(0, i) == other.sample_at(0, i);
    in_place += order.sample_at(0, i) == i;
  }
  // One is expected by chance.
  CHECK(as_next_epoch < 10);
  CHECK(as_other_seed < 10);
  CHECK(in_place < 10);
}
