#include "loader/cache/memory_watch.h"

#include <algorithm>
#include <utility>

namespace penstock {

MemoryWatch::MemoryWatch(Look look) : look_(std::move(look)) { take(look_()); }

void MemoryWatch::take(const std::optional<MemoryRoom>& room) {
  filled_bytes_ = 0;
  left_bytes_ = room ? room->left_bytes : 0;
  limit_bytes_ = room ? room->limit_bytes : 0;
  period_bytes_ = room
                      ? std::min(kPeriod_bytes, room->limit_bytes / kPeriodPart)
                      : kPeriod_bytes;
}

void MemoryWatch::look_again(uint64_t now_ns) {
  uint64_t looked_ns = looked_ns_;
  const bool is_due = looked_ns == 0 || now_ns >= looked_ns + kPeriod_ns ||
                      filled_bytes_ >= period_bytes_;
  // One thread looks; the others go by what is known.
  if (!is_due || !looked_ns_.compare_exchange_strong(looked_ns, now_ns)) return;
  take(look_());
}

uint64_t MemoryWatch::room_bytes(uint64_t now_ns) {
  look_again(now_ns);
  const uint64_t limit = limit_bytes_;
  if (limit == 0) return UINT64_MAX;
  const uint64_t taken = filled_bytes_ + limit / kFreePart;
  const uint64_t left = left_bytes_;
  return left - std::min(left, taken);
}

uint64_t MemoryWatch::excess_bytes(uint64_t now_ns) {
  look_again(now_ns);
  const uint64_t limit = limit_bytes_;
  const uint64_t left = left_bytes_;
  if (limit == 0 || left >= limit / kFreePart / 2) return 0;
  return limit / kFreePart - left;
}

}  // namespace penstock
