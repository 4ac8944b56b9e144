#include "exchange/dense/dense_sum.h"

#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <vector>

#include "tests/unit/catch.h"
#include "tests/unit/exchange/rank_threads.h"

using namespace penstock;
using namespace penstock::exchange;

namespace {

using Values = std::vector<float>;

constexpr size_t kPieceElements = size_t{1} << 18;  // at most

// Values whose sums depend on the order of addition.
Values values_of(int rank, size_t count, int step = 0) {
  Values out(count);
  for (size_t i = 0; i < count; ++i) {
    const auto mixed = uint32_t(i * 2654435761u + unsigned(rank * 97 + step));
    out[i] = float(mixed % 1000) * (rank % 2 == 0 ? 1e-3f : 1e4f);
  }
  return out;
}

Values sums_of(int ranks, size_t count, int step = 0) {
  Values out = values_of(0, count, step);
  for (int rank = 1; rank < ranks; ++rank) {
    const Values more = values_of(rank, count, step);
    for (size_t i = 0; i < count; ++i) out[i] += more[i];
  }
  return out;
}

size_t bytes_for(Transport& transport, size_t largest) {
  Arena measure;
  const DenseSum sum(transport, measure, largest);
  return measure.used();
}

// Each rank's thread calls this; Catch's macros are not thread-safe.
Arena arena_for(Transport& transport, size_t largest) {
  Result<Arena> arena = Arena::of(bytes_for(transport, largest));
  if (!arena) throw std::bad_alloc();
  return std::move(*arena);
}

bool sum_up(DenseSum& sum, std::span<float> values) {
  if (!sum.begin(values)) return false;
  while (true) {
    const Result<bool> done = sum.advance();
    if (!done) return false;
    if (*done) return true;
    std::this_thread::yield();
  }
}

// Consecutive sums of these sizes on each rank.
void check(int ranks, size_t largest, const std::vector<size_t>& counts) {
  std::mutex mutex;
  test::as_ranks(ranks, [&](Transport& transport) {
    transport.reserve(DenseSum::requests_of(ranks));
    Arena arena = arena_for(transport, largest);
    DenseSum sum(transport, arena, largest);
    int step = 0;
    for (const size_t count : counts) {
      Values values = values_of(transport.rank(), count, ++step);
      const bool is_done = sum_up(sum, values);
      const std::lock_guard lock(mutex);
      CHECK(is_done);
      CHECK(values == sums_of(ranks, count, step));
    }
  });
}

}  // namespace

TEST_CASE("all ranks get the sums, added in the order of ranks") {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    CAPTURE(ranks);
    check(ranks, 1000, {1000});
  }
}

TEST_CASE("fewer elements than ranks, and none, are summed") {
  check(5, 7, {3, 1, 0, 7});
}

TEST_CASE("more pieces than can be under way at once are summed") {
  const size_t many = kPieceElements * 5 + 17;
  for (const int ranks : {2, 3}) check(ranks, many, {many, many - 16, 100});
}

TEST_CASE("memory is that of a few pieces for any size of the sum") {
  constexpr size_t kMost = 3 * (kPieceElements + 64) * sizeof(float);
  for (const int ranks : {1, 2, 8, 64}) {
    CAPTURE(ranks);
    ThreadRanks group(ranks);
    const auto transport = group.transport(0);
    CHECK(bytes_for(*transport, size_t{1} << 30) <= kMost);
    CHECK(bytes_for(*transport, 100) <= 3 * (100 + size_t(ranks) + 16) * 4);
  }
}

TEST_CASE("an infinity is reported on all ranks, and not for later sums") {
  constexpr size_t kMany = kPieceElements * 5 + 17;
  std::mutex mutex;
  test::as_ranks(3, [&](Transport& transport) {
    transport.reserve(DenseSum::requests_of(3));
    Arena arena = arena_for(transport, kMany);
    DenseSum sum(transport, arena, kMany);
    for (const size_t place : {size_t{0}, kMany / 2, kMany - 1, kMany}) {
      Values values(kMany, 1.0f);
      const bool is_there = place < kMany;
      if (is_there && transport.rank() == 1) {
        values[place] = std::numeric_limits<float>::infinity();
      }
      const bool is_done = sum_up(sum, values);
      const std::lock_guard lock(mutex);
      CHECK(is_done);
      CHECK(sum.is_finite() == !is_there);
    }
  });
}

TEST_CASE("a transport's error ends the sum") {
  ThreadRanks group(2);
  const auto transport = group.transport(0);
  transport->reserve(1);  // too few
  Values values(100);
  Arena arena = arena_for(*transport, 100);
  DenseSum sum(*transport, arena, 100);
  const Status begun = sum.begin(values);
  REQUIRE_FALSE(begun);
  CHECK(begun.error().code == Code::kLimit);
}
