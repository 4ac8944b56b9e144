#include "loader/lmdb/mpi/buffer_shape.h"

#include "tests/unit/catch.h"

using namespace penstock;
using namespace penstock::lmdb;

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

BufferWish wish_of(uint64_t limit_bytes) {
  return {4, 8, 2, 100000, 64 << 10, limit_bytes};
}

}  // namespace

TEST_CASE("the bound of n records is the sum of the n largest") {
  const RecordBound bound({10, 30, 20}, 1);
  CHECK(bound.of(0) == 0);
  CHECK(bound.of(1) == 30);
  CHECK(bound.of(2) == 50);
  CHECK(bound.of(9) == 60);
}

TEST_CASE("beyond the exact records the bound still holds") {
  const RecordBound bound({5, 10, 30, 20, 7}, 1, 2);
  CHECK(bound.of(1) == 30);
  CHECK(bound.of(2) == 50);
  CHECK(bound.of(4) == 50 + 2 * 20);
  CHECK(bound.of(9) == 50 + 3 * 20);
}

TEST_CASE("aligned reads need room for whole blocks at both ends") {
  const RecordBound bound({4096, 2}, 4096);
  CHECK(bound.of(1) == 8192);
  CHECK(bound.of(2) == 8192 + 8192);
}

TEST_CASE("the buffer stays within its limit") {
  const RecordBound bound(uint64_t{12000});
  for (const uint64_t limit : {1 * kMiB, 4 * kMiB, 64 * kMiB, 1024 * kMiB}) {
    const auto shape = shape_buffer(wish_of(limit), bound);
    REQUIRE(shape);
    CHECK(shape->ring.window_bytes() <= limit);
    CHECK(shape->ring.slot_bytes >= bound.of(32) * shape->chunk_steps);
    CHECK(shape->ring.slot_entries == 32 * shape->chunk_steps);
    CHECK(shape->ring.slots >= 2);
  }
}

TEST_CASE("chunks are no larger than needed") {
  const auto shape =
      shape_buffer(wish_of(1024 * kMiB), RecordBound(uint64_t{12000}));
  REQUIRE(shape);
  CHECK(shape->ring.slot_bytes <= kChunkBytes + kMiB);
  CHECK(shape->ring.slots == 4);
  CHECK(shape->ring.data_slots == 4);
}

TEST_CASE("chunks that may be mapped are listed further ahead if they fit") {
  BufferWish wish = wish_of(64 * kMiB);
  const RecordBound bound(uint64_t{12000});
  const auto near = shape_buffer(wish, bound);
  wish.lists_ahead = true;
  const auto far = shape_buffer(wish, bound);
  REQUIRE(near);
  REQUIRE(far);
  CHECK(far->ring.slots == kListedChunks);
  CHECK(far->ring.data_slots == near->ring.data_slots);
  CHECK(far->ring.data_bytes() == near->ring.data_bytes());
  // The lists of small records may take more memory than their data.
  const auto small = shape_buffer(wish, RecordBound(uint64_t{100}));
  REQUIRE(small);
  CHECK(small->ring.slots < kListedChunks);
  CHECK(small->ring.bookkeeping_bytes() <= small->ring.data_bytes() / 2);
  wish.limit_bytes = near->ring.window_bytes();
  const auto full = shape_buffer(wish, bound);
  REQUIRE(full);
  CHECK(full->ring.slots == full->ring.data_slots);
}

TEST_CASE(
    "a buffer without room for two batches is refused with the needed size") {
  const auto shape =
      shape_buffer(wish_of(100000), RecordBound(uint64_t{12000}));
  REQUIRE(!shape);
  CHECK(shape.error().code == Code::kLimit);
  CHECK(shape.error().message.find("100000") != std::string::npos);
}
