// Which requests read a set of records: neighbours in the file in one. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "common/result.h"
#include "loader/lmdb/page_format.h"

namespace penstock::lmdb {

struct CoalesceRules {
  // Neighbours are joined up to this size; a larger record is one request. 0:
  // each record is a request of its own.
  uint64_t request_bytes = 0;
  // What may be read in vain between two neighbours.
  uint64_t gap_bytes = 0;
  // Requests begin and end at multiples of it (O_DIRECT).
  uint32_t align_bytes = 1;
  uint64_t file_bytes = 0;  // no request reaches further
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
  // Of each span, in the buffer; 0 of one without bytes, which is not read.
  std::vector<uint64_t> places;
  uint64_t used_bytes = 0;  // of the buffer

  bool operator==(const ReadPlan&) const = default;
};

// What a record may take of the buffer at most, gaps left out.
inline uint64_t padded_bytes(uint64_t record_bytes, uint32_t align_bytes) {
  return (record_bytes + 2 * uint64_t{align_bytes} - 2) / align_bytes *
         align_bytes;
}

// Gaps are read only as long as every record has room.
// Errors: kLimit  the records do not fit into the buffer
//         kIo     a record is beyond the end of the file
[[nodiscard]] Result<ReadPlan> coalesce(std::span<const RecordSpan> spans,
                                        const CoalesceRules& rules);

}  // namespace penstock::lmdb
