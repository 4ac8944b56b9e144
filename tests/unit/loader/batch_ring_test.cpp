#include "loader/pipeline/batch_ring.h"

#include <thread>

#include "tests/unit/catch.h"

using penstock::Batch;
using penstock::BatchRing;

namespace {

constexpr uint64_t kSecond = 1000000000;
using Claim = BatchRing::Claim;

// Claims the next place and writes its position there.
BatchRing::Place fill_next(BatchRing& ring) {
  BatchRing::Place place;
  REQUIRE(ring.claim(place, 0) == Claim::kGot);
  place.out[0] = static_cast<float>(place.position);
  return place;
}

std::vector<float> values(const Batch& batch) {
  return {batch.data, batch.data + batch.size};
}

}  // namespace

TEST_CASE(
    "batches come in order, whatever the order of their samples' completion") {
  BatchRing ring({.batches = 2, .plan = {.batch_samples = 2}});
  std::vector<BatchRing::Place> places;
  for (int i = 0; i < 4; ++i) places.push_back(fill_next(ring));
  for (int i : {3, 2, 1}) ring.complete(places[static_cast<size_t>(i)], {true});
  CHECK_FALSE(ring.next(0));  // batch 1 is complete, batch 0 is not
  ring.complete(places[0], {true});
  auto first = ring.next(0);
  REQUIRE(first);
  CHECK(first->number == 0);
  CHECK(values(*first) == std::vector<float>{0, 1});
  ring.release(*first);
  auto second = ring.next(0);
  REQUIRE(second);
  CHECK(values(*second) == std::vector<float>{2, 3});
}

TEST_CASE("a stopped thread delays one sample only") {
  BatchRing ring({.batches = 4, .plan = {.batch_samples = 8}});
  const BatchRing::Place frozen = fill_next(ring);
  // The other threads fill the rest of the ring.
  for (int i = 1; i < 32; ++i) ring.complete(fill_next(ring), {true});
  BatchRing::Place place;
  CHECK(ring.claim(place, 0) == Claim::kFull);
  CHECK_FALSE(ring.next(0));
  ring.complete(frozen, {true});
  for (uint64_t number = 0; number < 4; ++number) {
    auto batch = ring.next(0);
    REQUIRE(batch);
    CHECK(batch->number == number);
    ring.release(*batch);
  }
}

TEST_CASE("a release makes room in a full ring") {
  BatchRing ring({.batches = 1, .plan = {.batch_samples = 1}});
  for (int round = 0; round < 5; ++round) {
    ring.complete(fill_next(ring), {true});
    BatchRing::Place place;
    CHECK(ring.claim(place, 0) == Claim::kFull);
    auto batch = ring.next(0);
    REQUIRE(batch);
    CHECK(batch->data[0] == static_cast<float>(round));
    ring.release(*batch);
  }
}

TEST_CASE("broken samples leave no gap in their batch") {
  BatchRing ring({.batches = 2, .plan = {.batch_samples = 4}});
  for (int i = 0; i < 8; ++i) {
    const BatchRing::Place place = fill_next(ring);
    const bool is_good = place.position % 4 == 1 || place.position == 3;
    ring.complete(place, {is_good, 100 + place.position, -int64_t(i)});
  }
  auto batch = ring.next(0);
  REQUIRE(batch);
  CHECK(values(*batch) == std::vector<float>{1, 3});
  CHECK(batch->sample_floats == 1);
  CHECK(batch->indices[0] == 101);
  CHECK(batch->indices[1] == 103);
  CHECK(batch->labels[0] == -1);
  CHECK(batch->labels[1] == -3);
  ring.release(*batch);
  batch = ring.next(0);
  REQUIRE(batch);
  CHECK(values(*batch) == std::vector<float>{5});
}

TEST_CASE("the last batch of a stream may be short") {
  BatchRing ring(
      {.batches = 4, .plan = {.batch_samples = 4, .total_samples = 6}});
  for (int i = 0; i < 6; ++i) ring.complete(fill_next(ring), {true});
  BatchRing::Place place;
  CHECK(ring.claim(place, kSecond) == Claim::kEnd);
  auto whole = ring.next(0);
  REQUIRE(whole);
  ring.release(*whole);
  CHECK_FALSE(ring.finished());
  auto last = ring.next(0);
  REQUIRE(last);
  CHECK(values(*last) == std::vector<float>{4, 5});
  ring.release(*last);
  CHECK(ring.finished());
  CHECK_FALSE(ring.next(kSecond));
}

TEST_CASE("a batch ends with its epoch") {
  BatchRing ring({.batches = 3,
                  .plan = {.batch_samples = 4,
                           .total_samples = 15,
                           .epoch_samples = 6,
                           .first_epoch_samples = 5}});
  const std::vector<std::vector<float>> expected{
      {0, 1, 2, 3}, {4}, {5, 6, 7, 8}, {9, 10}, {11, 12, 13, 14}};
  for (size_t i = 0; i < expected.size(); ++i) {
    for (size_t n = 0; n < expected[i].size(); ++n) {
      ring.complete(fill_next(ring), {true});
    }
    auto batch = ring.next(0);
    REQUIRE(batch);
    CHECK(values(*batch) == expected[i]);
    CHECK(batch->ends_epoch == (i == 1 || i == 3));
    ring.release(*batch);
  }
  CHECK(ring.finished());
}

TEST_CASE("without order, a complete batch does not wait for earlier ones") {
  BatchRing ring(
      {.batches = 4, .plan = {.batch_samples = 1}, .is_ordered = false});
  std::vector<BatchRing::Place> places;
  for (int i = 0; i < 4; ++i) places.push_back(fill_next(ring));
  ring.complete(places[2], {true});
  auto last = ring.next(0);
  REQUIRE(last);
  CHECK(last->number == 2);
  CHECK(ring.unhanded() == 0);
  CHECK_FALSE(ring.next(0));
  ring.release(*last);
  // Its room is free only after that of earlier batches.
  BatchRing::Place place;
  CHECK(ring.claim(place, 0) == Claim::kFull);
  ring.complete(places[1], {true});
  ring.complete(places[0], {true});
  auto first = ring.next(0);
  REQUIRE(first);
  CHECK(first->number == 0);
  CHECK(ring.unhanded() == 1);
  ring.release(*first);
  REQUIRE(ring.claim(place, 0) == Claim::kGot);
  CHECK(place.batch == 4);
  auto middle = ring.next(0);
  REQUIRE(middle);
  CHECK(middle->number == 1);
  CHECK(ring.unhanded() == 3);
}

TEST_CASE("without order, a trainer that holds a batch gets the next one") {
  BatchRing ring(
      {.batches = 3, .plan = {.batch_samples = 1}, .is_ordered = false});
  std::vector<BatchRing::Place> places;
  for (int i = 0; i < 3; ++i) places.push_back(fill_next(ring));
  for (size_t i : {1, 2}) ring.complete(places[i], {true});
  const auto second = ring.next(0);
  REQUIRE(second);
  CHECK(second->number == 1);
  ring.release(*second);
  CHECK_FALSE(ring.next(0));
  ring.complete(places[0], {true});
  const auto first = ring.next(0);
  REQUIRE(first);
  CHECK(ring.has_room());
  const auto third = ring.next(0);
  REQUIRE(third);
  CHECK(third->number == 2);
}

TEST_CASE(
    "without order, an epoch's last batch comes after its other batches") {
  BatchRing ring({.batches = 7,
                  .plan = {.batch_samples = 1,
                           .epoch_samples = 3,
                           .first_epoch_samples = 3},
                  .is_ordered = false});
  std::vector<BatchRing::Place> places;
  for (int i = 0; i < 6; ++i) places.push_back(fill_next(ring));
  const auto completed = [&](size_t number) {
    ring.complete(places[number], {true});
    return ring.next(0);
  };
  CHECK_FALSE(completed(3));  // of the next epoch
  auto batch = completed(2);
  REQUIRE(batch);
  CHECK(batch->number == 2);
  CHECK_FALSE(batch->ends_epoch);
  batch = completed(0);
  REQUIRE(batch);
  CHECK_FALSE(batch->ends_epoch);
  batch = completed(1);
  REQUIRE(batch);
  CHECK(batch->number == 1);
  CHECK(batch->ends_epoch);
  batch = completed(5);
  REQUIRE(batch);
  CHECK(batch->number == 3);
  CHECK_FALSE(batch->ends_epoch);
}

TEST_CASE(
    "the trainer may hold several batches and release them in any order") {
  BatchRing ring({.batches = 3, .plan = {.batch_samples = 1}});
  std::vector<Batch> held;
  for (int i = 0; i < 3; ++i) {
    ring.complete(fill_next(ring), {true});
    held.push_back(*ring.next(0));
  }
  CHECK_FALSE(ring.next(0));
  BatchRing::Place place;
  ring.release(held[1]);
  CHECK(ring.claim(place, 0) == Claim::kFull);
  ring.release(held[0]);
  for (int i = 0; i < 2; ++i) ring.complete(fill_next(ring), {true});
  CHECK(ring.claim(place, 0) == Claim::kFull);
  CHECK(held[2].data[0] == 2);
  CHECK(ring.next(0)->number == 3);
}

TEST_CASE("many threads fill many batches without losing a sample") {
  constexpr uint64_t kTotal = 20000;
  BatchRing ring(
      {.batches = 3, .plan = {.batch_samples = 7, .total_samples = kTotal}});
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&ring] {
      BatchRing::Place place;
      Claim claim;
      while ((claim = ring.claim(place, kSecond / 100)) != Claim::kEnd) {
        if (claim == Claim::kFull) continue;
        place.out[0] = static_cast<float>(place.position);
        ring.complete(place, {true});
      }
    });
  }
  uint64_t expected = 0;
  while (!ring.finished()) {
    auto batch = ring.next(kSecond / 100);
    if (!batch) continue;
    for (float value : values(*batch)) {
      REQUIRE(value == static_cast<float>(expected));
      ++expected;
    }
    ring.release(*batch);
  }
  CHECK(expected == kTotal);
}
