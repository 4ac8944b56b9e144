// Computes the size and division of a node's buffer. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "common/result.h"
#include "loader/lmdb/mpi/node_ring.h"

namespace penstock::lmdb {

// Upper bound of the bytes of a number of records.
class RecordBound {
 public:
  // sizes_bytes: of all records, in any order. The bound is exact for up to
  // `most` records; each further one counts as the `most`-th largest.
  RecordBound(std::vector<uint32_t> sizes_bytes, uint32_t align_bytes,
              uint64_t most = UINT64_MAX);
  // For unknown sizes: each_bytes per record.
  explicit RecordBound(uint64_t each_bytes) : each_bytes_(each_bytes) {}

  // A number above that of all records counts as all records.
  uint64_t of(uint64_t records) const;

 private:
  uint64_t each_bytes_ = 0;  // per record beyond sums_
  uint64_t records_ = 0;
  std::vector<uint64_t> sums_;  // of the largest 1, 2, ... records
};

struct BufferWish {
  uint32_t ranks = 1;            // of the node
  uint32_t batch_records = 1;    // of a rank
  uint32_t reading_threads = 1;  // of the node
  uint64_t steps = 1;            // of an epoch
  uint64_t gap_bytes = 0;        // unneeded bytes that a chunk may read
  uint64_t limit_bytes = 0;      // of the whole buffer
  bool lists_ahead = false;  // chunks may be mapped, and then use no data slot
};

struct BufferShape {
  RingShape ring;
  uint32_t chunk_steps = 1;
};

// Target size of a chunk: large enough for a stream of large requests, small
// enough for several chunks, so that reading goes on while consumers pause.
inline constexpr uint64_t kChunkBytes = uint64_t{8} << 20;

// Maximum number of chunks listed ahead.
inline constexpr uint32_t kListedChunks = 128;

// Errors: kLimit  no room for two single steps; the message has the bytes
//                 needed
[[nodiscard]] Result<BufferShape> shape_buffer(const BufferWish& wish,
                                               const RecordBound& bound);

}  // namespace penstock::lmdb
