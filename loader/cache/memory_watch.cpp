#include "loader/cache/memory_watch.h"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

uint64_t above(uint64_t value, uint64_t other) {
  return value - std::min(value, other);
}

}  // namespace

MemoryWatch::MemoryWatch(Look look) : look_(std::move(look)) {
  take(look_(), {});
}

void MemoryWatch::take(const std::optional<MemoryRoom>& room,
                       const FillCounts& filled) {
  filled_bytes_ = filled.filled_bytes;
  settled_bytes_ = filled.settled_bytes;
  left_bytes_ = room ? room->left_bytes : 0;
  limit_bytes_ = room ? room->limit_bytes : 0;
}

void MemoryWatch::look_again(uint64_t now_ns, const FillCounts& filled) {
  uint64_t looked_ns = looked_ns_;
  const bool is_due =
      looked_ns == 0 || now_ns >= looked_ns + kPeriod_ns ||
      above(filled.filled_bytes, filled_bytes_) >= kPeriod_bytes;
  // One thread reads the cgroups; the others use the last values.
  if (!is_due || !looked_ns_.compare_exchange_strong(looked_ns, now_ns)) return;
  take(look_(), filled);
}

uint64_t MemoryWatch::room_bytes(uint64_t now_ns, const FillCounts& filled) {
  look_again(now_ns, filled);
  const uint64_t limit = limit_bytes_;
  if (limit == 0) return UINT64_MAX;
  const uint64_t taken =
      above(filled.filled_bytes, settled_bytes_) + limit / kFreePart;
  const uint64_t left = left_bytes_;
  return left - std::min(left, taken);
}

uint64_t MemoryWatch::excess_bytes(uint64_t now_ns, const FillCounts& filled) {
  look_again(now_ns, filled);
  const uint64_t limit = limit_bytes_;
  const uint64_t left = left_bytes_;
  if (limit == 0 || left >= limit / kFreePart / 2) return 0;
  return limit / kFreePart - left;
}

}  // namespace penstock
