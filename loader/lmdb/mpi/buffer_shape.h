// How large a node's buffer has to be, and how it is cut. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "common/result.h"
#include "loader/lmdb/mpi/node_ring.h"

namespace penstock::lmdb {

// What a number of records takes at most.
class RecordBound {
 public:
  // The sizes of all records, in any order. Exact for `most` records; of more,
  // those that follow count as the last of them.
  RecordBound(std::vector<uint32_t> sizes_bytes, uint32_t align_bytes,
              uint64_t most = UINT64_MAX);
  // Where sizes are not known: so much for each.
  explicit RecordBound(uint64_t each_bytes) : each_bytes_(each_bytes) {}

  // REQUIRES: any number; more than there are count as all.
  uint64_t of(uint64_t records) const;

 private:
  uint64_t each_bytes_ = 0;  // or of those that follow
  uint64_t records_ = 0;
  std::vector<uint64_t> sums_;  // of the largest 1, 2, ...
};

struct BufferWish {
  uint32_t ranks = 1;            // of the node
  uint32_t batch_records = 1;    // of a rank
  uint32_t reading_threads = 1;  // of the node
  uint64_t steps = 1;            // of an epoch
  uint64_t gap_bytes = 0;        // that a chunk may read in vain
  uint64_t limit_bytes = 0;      // of the whole buffer
  bool lists_ahead = false;  // chunks may be mapped, and then need no data slot
};

struct BufferShape {
  RingShape ring;
  uint32_t chunk_steps = 1;
};

// Chunks of about this size, so that reading is a stream of large requests, and
// several of them, so that it does not stop where consumers do.
inline constexpr uint64_t kChunkBytes = uint64_t{8} << 20;

// How many chunks may be listed ahead.
inline constexpr uint32_t kListedChunks = 128;

// Errors: kLimit  not even two single steps have room; the message says how
//                 much they need
[[nodiscard]] Result<BufferShape> shape_buffer(const BufferWish& wish,
                                               const RecordBound& bound);

}  // namespace penstock::lmdb
