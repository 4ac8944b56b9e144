#include "penstock/loader/sampler.h"

#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <vector>

#include "tests/unit/catch.h"

using namespace penstock;
using Catch::Matchers::ContainsSubstring;

namespace {

uint64_t test_seed() {
  const char* given = std::getenv("PENSTOCK_TEST_SEED");
  return given ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

EpochSampler make(const SamplerOptions& options,
                  const std::optional<SamplerState>& from = std::nullopt) {
  auto sampler = EpochSampler::create(options, from);
  if (!sampler) INFO(sampler.error().message);
  REQUIRE(sampler);
  return *sampler;
}

struct Order {
  std::vector<uint64_t> samples;
  SamplerState end;
};

// The samples that all ranks load of the epoch of `from`, round by round, up to
// a number of rounds.
Order rounds(SamplerOptions options, const std::optional<SamplerState>& from,
             uint64_t most = UINT64_MAX) {
  Order order;
  const EpochSampler any = make(options, from);
  const uint64_t end = std::min(any.epoch_end(0), most);
  // If the epoch has no samples left, sample 0 is of the next one.
  const uint64_t epoch = any.sample_at(0).epoch;
  for (uint64_t n = 0; n < end; ++n) {
    for (options.rank = 0; options.rank < options.ranks; ++options.rank) {
      const auto sample = make(options, from).sample_at(n);
      REQUIRE(sample.epoch == epoch);
      order.samples.push_back(sample.index);
    }
  }
  order.end = any.state_after(end);
  return order;
}

SamplerOptions random_options(std::mt19937_64& random) {
  SamplerOptions options;
  options.count = 1 + random() % 60;
  options.seed = random();
  options.ranks = 1 + random() % 9;
  options.tail = random() % 2 ? EpochTail::kPad : EpochTail::kDrop;
  options.shuffle = random() % 4 != 0;
  if (options.tail == EpochTail::kDrop) {
    options.ranks = std::min(options.ranks, options.count);
  }
  return options;
}

}  // namespace

TEST_CASE("an epoch's order does not depend on the number of ranks") {
  const uint64_t seed = test_seed();
  INFO("PENSTOCK_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 300; ++i) {
    SamplerOptions options = random_options(random);
    CAPTURE(options.count, options.ranks, int(options.tail));
    const Order some = rounds(options, std::nullopt);
    const uint64_t count = options.count;
    const uint64_t ranks = options.ranks;
    options.ranks = 1;
    const Order alone = rounds(options, std::nullopt);
    REQUIRE(alone.samples.size() == count);
    for (size_t p = 0; p < some.samples.size(); ++p) {
      REQUIRE(some.samples[p] == alone.samples[p % count]);
    }
    // Whole rounds; padded, every sample; dropped, none twice.
    REQUIRE(some.samples.size() % ranks == 0);
    if (options.tail == EpochTail::kPad) {
      REQUIRE(some.samples.size() >= count);
      REQUIRE(some.samples.size() < count + ranks);
    } else {
      REQUIRE(some.samples.size() <= count);
      REQUIRE(some.samples.size() + ranks > count);
    }
    REQUIRE(some.end ==
            SamplerState{count, options.seed, options.shuffle, 1, 0});
  }
}

TEST_CASE("an epoch can be resumed anywhere with another number of ranks") {
  const uint64_t seed = test_seed();
  INFO("PENSTOCK_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 300; ++i) {
    SamplerOptions options = random_options(random);
    SamplerOptions single = options;
    single.ranks = 1;
    const std::vector<uint64_t> whole = rounds(single, std::nullopt).samples;
    std::optional<SamplerState> state;
    size_t position = 0;
    while (position < whole.size()) {
      CAPTURE(options.count, options.ranks, int(options.tail), position);
      // Under kDrop a rest may be smaller than a round.
      if (make(options, state).sample_at(0).epoch > 0) break;
      const Order part = rounds(options, state, 1 + random() % 5);
      for (const uint64_t sample : part.samples) {
        REQUIRE(sample == whole[position++ % whole.size()]);
      }
      state = part.end;
      if (state->epoch > 0) break;
      REQUIRE(state->position == position);
      options.ranks = 1 + random() % std::min<uint64_t>(9, options.count);
    }
    // Only the remainder of a round was left out.
    REQUIRE(position + options.ranks > whole.size());
  }
}

TEST_CASE("a resumed sampler equals an uninterrupted one") {
  const uint64_t seed = test_seed();
  INFO("PENSTOCK_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 300; ++i) {
    SamplerOptions options = random_options(random);
    options.rank = random() % options.ranks;
    const EpochSampler first = make(options);
    const uint64_t behind = random() % 200;
    const EpochSampler second = make(options, first.state_after(behind));
    CAPTURE(options.count, options.ranks, options.rank, behind);
    for (uint64_t n = 0; n < 150; ++n) {
      const auto expected = first.sample_at(behind + n);
      const auto sample = second.sample_at(n);
      REQUIRE(sample.epoch == expected.epoch);
      REQUIRE(sample.index == expected.index);
      REQUIRE(second.state_after(n) == first.state_after(behind + n));
      REQUIRE(second.epoch_end(n) + behind == first.epoch_end(behind + n));
    }
  }
}

TEST_CASE("epochs differ if and only if they are shuffled") {
  SamplerOptions options{.count = 100, .seed = 3};
  const EpochSampler shuffled = make(options);
  options.shuffle = false;
  const EpochSampler plain = make(options);
  int same = 0;
  for (uint64_t n = 0; n < 100; ++n) {
    same += shuffled.sample_at(n).index == shuffled.sample_at(100 + n).index;
    CHECK(plain.sample_at(n).index == n);
    CHECK(plain.sample_at(100 + n).index == n);
    CHECK(plain.sample_at(100 + n).epoch == 1);
  }
  CHECK(same < 10);
  CHECK(shuffled.samples_per_epoch() == 100);
}

TEST_CASE("with more ranks than samples the padding repeats the samples") {
  const Order order =
      rounds({.count = 3, .ranks = 8, .shuffle = false}, std::nullopt);
  CHECK(order.samples == std::vector<uint64_t>{0, 1, 2, 0, 1, 2, 0, 1});
}

TEST_CASE("invalid options and states are refused with their cause") {
  SamplerOptions options{.count = 10, .seed = 1, .ranks = 2};
  std::optional<SamplerState> state;
  std::string why;
  SECTION("no samples") {
    options.count = 0;
    why = "0 samples; allowed: 1 to 2^48";
  }
  SECTION("too many samples") {
    options.count = (uint64_t{1} << 48) + 1;
    why = "allowed: 1 to 2^48";
  }
  SECTION("no ranks") {
    options.ranks = 0;
    why = "0 ranks";
  }
  SECTION("too many ranks") {
    options.ranks = (uint64_t{1} << 31) + 1;
    why = "allowed: 1 to 2^31";
  }
  SECTION("a rank beyond the number of ranks") {
    options.rank = 2;
    why = "rank 2 of 2";
  }
  SECTION("an epoch that is empty without its tail") {
    options.ranks = 11;
    options.tail = EpochTail::kDrop;
    why = "pad it";
  }
  SECTION("a state of another dataset") {
    state = SamplerState{11, 1, true, 0, 0};
    why = "dataset of 11 samples; this one has 10";
  }
  SECTION("a state of another seed") {
    state = SamplerState{10, 2, true, 0, 0};
    why = "seed 2; asked for: 1";
  }
  SECTION("a state of a shuffled order") {
    options.shuffle = false;
    state = SamplerState{10, 1, true, 0, 0};
    why = "of a shuffled order";
  }
  SECTION("a state of an order that is not shuffled") {
    state = SamplerState{10, 1, false, 0, 0};
    why = "not shuffled";
  }
  SECTION("a state beyond the epoch") {
    state = SamplerState{10, 1, true, 0, 11};
    why = "position 11 is beyond its 10";
  }
  const auto sampler = EpochSampler::create(options, state);
  REQUIRE_FALSE(sampler);
  CHECK(sampler.error().code == Code::kInvalidArgument);
  CHECK_THAT(sampler.error().message, ContainsSubstring(why));
}
