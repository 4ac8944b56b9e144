// Plans the requests that read a set of records; joins neighbours in the file.
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/result.h"
#include "loader/lmdb/page_format.h"

namespace penstock::lmdb {

struct CoalesceRules {
  // Maximum size of joined neighbours; a larger record is one request. 0: each
  // record is a request of its own.
  uint64_t request_bytes = 0;
  // Maximum of unneeded bytes between two neighbours.
  uint64_t gap_bytes = 0;
  // Requests start and end at multiples of it (O_DIRECT).
  uint32_t align_bytes = 1;
  uint64_t file_bytes = 0;  // no request goes beyond it
  uint64_t buffer_bytes = 0;
};

struct ReadRequest {
  uint64_t offset = 0;  // in the file
  uint64_t bytes = 0;
  uint64_t buffer_offset = 0;  // a multiple of align_bytes

  bool operator==(const ReadRequest&) const = default;
};

struct ReadPlan {
  std::vector<ReadRequest> requests;  // in file order
  // Buffer offset of each span; 0 for an empty span, which is not read.
  std::vector<uint64_t> places;
  uint64_t used_bytes = 0;  // of the buffer

  bool operator==(const ReadPlan&) const = default;
};

// Maximum buffer space of a record, without gaps.
inline uint64_t padded_bytes(uint64_t record_bytes, uint32_t align_bytes) {
  return (record_bytes + 2 * uint64_t{align_bytes} - 2) / align_bytes *
         align_bytes;
}

// Reads gaps only if every record still fits.
// Errors: kLimit  the records do not fit into the buffer
//         kIo     a record is beyond the end of the file
[[nodiscard]] Result<ReadPlan> coalesce(std::span<const RecordSpan> spans,
                                        const CoalesceRules& rules);

}  // namespace penstock::lmdb
