#include "loader/lmdb/mpi/buffer_shape.h"

#include <algorithm>
#include <functional>
#include <string>

#include "loader/lmdb/mpi/backed_memory.h"
#include "loader/lmdb/mpi/coalesce.h"

namespace penstock::lmdb {

RecordBound::RecordBound(std::vector<uint32_t> sizes, uint32_t align_bytes) {
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  sums_.reserve(sizes.size());
  uint64_t sum = 0;
  for (const uint32_t bytes : sizes) {
    sum += padded_bytes(bytes, align_bytes);
    sums_.push_back(sum);
  }
}

uint64_t RecordBound::of(uint64_t records) const {
  if (each_bytes_ > 0) return records * each_bytes_;
  const uint64_t known = std::min<uint64_t>(records, sums_.size());
  return known == 0 ? 0 : sums_[known - 1];
}

namespace {

// What a huge page has room for is made of them.
uint64_t slot_bytes(uint64_t needed) {
  const uint64_t unit =
      needed < kHugePageBytes ? RingShape::kDataAlignment : kHugePageBytes;
  return (needed + unit - 1) / unit * unit;
}

}  // namespace

Result<BufferShape> shape_buffer(const BufferWish& wish,
                                 const RecordBound& bound) {
  const uint64_t step_records = uint64_t{wish.ranks} * wish.batch_records;
  const auto shape_of = [&](uint64_t steps, uint32_t slots, uint64_t gaps) {
    return RingShape{wish.ranks, slots, step_records * steps,
                     slot_bytes(bound.of(step_records * steps) + gaps)};
  };
  uint32_t slots = wish.reading_threads + 2;
  uint64_t gaps = wish.gap_bytes;
  if (shape_of(1, slots, gaps).window_bytes() > wish.limit_bytes) {
    slots = 2;
    gaps = 0;
  }
  const RingShape least = shape_of(1, slots, gaps);
  if (least.window_bytes() > wish.limit_bytes) {
    return Error{Code::kLimit, 0,
                 "two batches of the node's " + std::to_string(wish.ranks) +
                     " ranks need a buffer of " +
                     std::to_string(least.window_bytes()) +
                     " bytes; it may have " + std::to_string(wish.limit_bytes) +
                     " (buffer_bytes, or fewer batch_records)"};
  }
  uint64_t steps = 1;
  while (2 * steps <= std::min<uint64_t>(wish.steps, 1 << 16) &&
         bound.of(2 * steps * step_records) <= kChunkBytes &&
         shape_of(2 * steps, slots, gaps).window_bytes() <= wish.limit_bytes) {
    steps *= 2;
  }
  return BufferShape{shape_of(steps, slots, gaps),
                     static_cast<uint32_t>(steps)};
}

}  // namespace penstock::lmdb
