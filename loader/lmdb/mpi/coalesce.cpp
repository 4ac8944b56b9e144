#include "loader/lmdb/mpi/coalesce.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace penstock::lmdb {
namespace {

uint64_t down(uint64_t value, uint32_t align) { return value / align * align; }
uint64_t up(uint64_t value, uint32_t align) {
  return down(value + align - 1, align);
}

std::vector<uint32_t> in_file_order(std::span<const RecordSpan> spans) {
  std::vector<uint32_t> order(spans.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto before = [&](uint32_t a, uint32_t b) {
    return spans[a].offset < spans[b].offset;
  };
  // The records of sequential epochs are already sorted.
  if (!std::is_sorted(order.begin(), order.end(), before)) {
    std::sort(order.begin(), order.end(), before);
  }
  return order;
}

// Buffer space for gaps, assuming that no two records are joined.
uint64_t spare_bytes(std::span<const RecordSpan> spans,
                     const CoalesceRules& rules) {
  uint64_t needed = 0;
  for (const RecordSpan& span : spans) {
    needed += padded_bytes(span.bytes, rules.align_bytes);
  }
  return rules.buffer_bytes - std::min(rules.buffer_bytes, needed);
}

}  // namespace

Result<ReadPlan> coalesce(std::span<const RecordSpan> spans,
                          const CoalesceRules& rules) {
  ReadPlan plan;
  plan.places.resize(spans.size());
  uint64_t spare = spare_bytes(spans, rules);
  for (const uint32_t i : in_file_order(spans)) {
    const RecordSpan& span = spans[i];
    if (span.offset > rules.file_bytes ||
        span.bytes > rules.file_bytes - span.offset) {
      return Error{Code::kIo, 0,
                   "a record at byte " + std::to_string(span.offset) +
                       " is beyond the end of the file"};
    }
    if (span.bytes == 0) continue;
    const uint64_t first = down(span.offset, rules.align_bytes);
    const uint64_t last = std::min(
        up(span.offset + span.bytes, rules.align_bytes), rules.file_bytes);
    ReadRequest* open = plan.requests.empty() ? nullptr : &plan.requests.back();
    const uint64_t end = open ? open->offset + open->bytes : 0;
    const uint64_t gap = first > end ? first - end : 0;
    const bool joins =
        open && gap <= std::min(rules.gap_bytes, spare) &&
        std::max(last, end) - open->offset <= rules.request_bytes;
    if (joins) {
      spare -= gap;
      open->bytes = std::max(last, end) - open->offset;
    } else {
      plan.requests.push_back(
          {first, last - first, up(plan.used_bytes, rules.align_bytes)});
      open = &plan.requests.back();
    }
    plan.used_bytes = open->buffer_offset + open->bytes;
    plan.places[i] = open->buffer_offset + span.offset - open->offset;
  }
  if (plan.used_bytes > rules.buffer_bytes) {
    return Error{Code::kLimit, 0,
                 "records need " + std::to_string(plan.used_bytes) +
                     " bytes of a buffer of " +
                     std::to_string(rules.buffer_bytes)};
  }
  return plan;
}

}  // namespace penstock::lmdb
