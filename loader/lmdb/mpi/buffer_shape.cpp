#include "loader/lmdb/mpi/buffer_shape.h"

#include <algorithm>
#include <functional>
#include <string>

#include "loader/lmdb/mpi/backed_memory.h"
#include "loader/lmdb/mpi/coalesce.h"

namespace penstock::lmdb {

RecordBound::RecordBound(std::vector<uint32_t> sizes, uint32_t align_bytes,
                         uint64_t most)
    : records_(sizes.size()) {
  const uint64_t exact = std::min<uint64_t>(most, sizes.size());
  const auto end = sizes.begin() + static_cast<ptrdiff_t>(exact);
  std::partial_sort(sizes.begin(), end, sizes.end(), std::greater<>());
  uint64_t sum = 0;
  for (uint64_t i = 0; i < exact; ++i) {
    each_bytes_ = padded_bytes(sizes[i], align_bytes);
    sum += each_bytes_;
    sums_.push_back(sum);
  }
}

uint64_t RecordBound::of(uint64_t records) const {
  if (sums_.empty()) return records * each_bytes_;
  const uint64_t wanted = std::min(records, records_);
  const uint64_t exact = std::min<uint64_t>(wanted, sums_.size());
  if (exact == 0) return 0;
  return sums_[exact - 1] + (wanted - exact) * each_bytes_;
}

namespace {

// Slots of at least a huge page consist of whole huge pages.
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
    return RingShape{wish.ranks, slots, slots, step_records * steps,
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
  BufferShape shape{shape_of(steps, slots, gaps), static_cast<uint32_t>(steps)};
  if (!wish.lists_ahead) return shape;
  // Lists take memory at once, data slots only when data is first read into
  // them.
  const uint64_t most_bytes = shape.ring.data_bytes() / 4;
  for (RingShape ahead = shape.ring; ahead.slots < kListedChunks;) {
    ahead.slots = std::min(2 * ahead.slots, kListedChunks);
    if (ahead.window_bytes() > wish.limit_bytes ||
        ahead.bookkeeping_bytes() > most_bytes) {
      break;
    }
    shape.ring = ahead;
  }
  return shape;
}

}  // namespace penstock::lmdb
