#include "loader/pipeline/feed_plan.h"

#include <set>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

EpochSampler ten_samples() {
  auto sampler = EpochSampler::create({.count = 10, .seed = 3});
  REQUIRE(sampler);
  return *sampler;
}

}  // namespace

TEST_CASE("without a feed the stream consists of the dataset's epochs") {
  const EpochOrder order(10, 3);
  const EpochSampler sampler = ten_samples();
  for (uint64_t position = 0; position < 30; ++position) {
    const FeedSample sample = sample_of(Feed{}, sampler, position);
    CHECK(sample.epoch == position / 10);
    CHECK(sample.index == order.sample_at(position / 10, position % 10));
    CHECK(sample.source == SampleSource::kUsual);
  }
}

TEST_CASE("a subset repeats the beginning of the first epoch") {
  const EpochOrder order(10, 3);
  const EpochSampler sampler = ten_samples();
  const Feed feed{4};
  for (uint64_t position = 0; position < 12; ++position) {
    const FeedSample sample = sample_of(feed, sampler, position);
    CHECK(sample.epoch == position / 4);  // another augmentation each time
    CHECK(sample.index == order.sample_at(0, position % 4));
    CHECK(sample.source == SampleSource::kMemory);
  }
  // A subset larger than the dataset is the whole dataset.
  CHECK(sample_of(Feed{99}, sampler, 10).index == order.sample_at(0, 0));
}

TEST_CASE("cold feeds read the whole dataset from storage") {
  const EpochOrder order(10, 3);
  const EpochSampler sampler = ten_samples();
  std::set<uint64_t> seen;
  for (uint64_t position = 0; position < 10; ++position) {
    const FeedSample sample = sample_of({0, true}, sampler, position);
    CHECK(sample.source == SampleSource::kStorage);
    seen.insert(sample.index);
  }
  CHECK(seen.size() == 10);
}

TEST_CASE("each feed applies from its position on") {
  FeedPlan plan;
  CHECK(plan.at(5).subset_samples == 0);
  for (uint64_t i = 1; i <= 20; ++i) plan.add(10 * i, {i});
  CHECK(plan.at(200).subset_samples == 20);
  CHECK(plan.at(199).subset_samples == 19);
  CHECK(plan.at(195).subset_samples == 19);
  CHECK(plan.at(140).subset_samples == 14);
}
