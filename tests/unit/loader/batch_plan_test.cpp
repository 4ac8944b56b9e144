#include "loader/pipeline/batch_plan.h"

#include <cstdlib>
#include <random>

#include "tests/unit/catch.h"

using penstock::BatchPlan;

TEST_CASE("batches that span epochs have the same size, except the last") {
  const BatchPlan plan({.batch_samples = 4, .total_samples = 10});
  CHECK(plan.first_sample(2) == 8);
  CHECK(plan.samples(1) == 4);
  CHECK(plan.samples(2) == 2);
  CHECK(plan.samples(3) == 0);
  CHECK_FALSE(plan.ends_epoch(2));
  CHECK(BatchPlan({.batch_samples = 3}).samples(1000000) == 3);
}

TEST_CASE("batches cover all samples and never span an epoch's end") {
  const char* given = std::getenv("PENSTOCK_TEST_SEED");
  const uint64_t seed =
      given ? std::strtoull(given, nullptr, 10) : std::random_device()();
  INFO("PENSTOCK_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 500; ++i) {
    const uint64_t epoch = 1 + random() % 20;
    const uint64_t first = random() % (epoch + 1);
    const uint64_t total = random() % 100;
    const uint64_t batch_samples = 1 + random() % 8;
    CAPTURE(epoch, first, total, batch_samples);
    const BatchPlan plan({batch_samples, total, epoch, first});
    uint64_t expected = 0;
    for (uint64_t batch = 0; plan.samples(batch) > 0; ++batch) {
      REQUIRE(plan.first_sample(batch) == expected);
      REQUIRE(plan.samples(batch) <= batch_samples);
      const uint64_t begin = expected;
      expected += plan.samples(batch);
      const bool ends = expected >= first && (expected - first) % epoch == 0;
      REQUIRE(plan.ends_epoch(batch) == ends);
      // No batch has samples of two epochs.
      if (begin < first) REQUIRE(expected <= first);
      if (begin >= first) {
        REQUIRE((begin - first) / epoch == (expected - 1 - first) / epoch);
      }
    }
    REQUIRE(expected == total);
  }
}
