// Whether the job's memory leaves room for the cache: asked often, looked at
// seldom.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "loader/memory_room.h"

namespace penstock {

// Thread-safe, if `look` is.
class MemoryWatch {
 public:
  // Of the limit, what the cache leaves free of itself and of everything else.
  static constexpr uint64_t kFreePart = 16;
  // How long, and for how many bytes, one look is good: at most a sixteenth of
  // what is left free, which many processes may take at once.
  static constexpr uint64_t kPeriod_ns = 250000000;
  static constexpr uint64_t kPeriod_bytes = 4 << 20;
  static constexpr uint64_t kPeriodPart = 16 * kFreePart;

  using Look = std::function<std::optional<MemoryRoom>()>;
  explicit MemoryWatch(Look look = [] { return group_memory(); });

  // What may be put in, in bytes.
  uint64_t room_bytes(uint64_t now_ns);
  void count_filled(uint64_t bytes) { filled_bytes_ += bytes; }

  // What has to be given back: programs have come half way into what is left
  // free. 0: nothing. Looks at most once a period.
  uint64_t excess_bytes(uint64_t now_ns);

 private:
  void look_again(uint64_t now_ns);
  void take(const std::optional<MemoryRoom>& room);

  const Look look_;
  std::atomic<uint64_t> looked_ns_ = 0;
  std::atomic<uint64_t> filled_bytes_ = 0;  // since then
  std::atomic<uint64_t> period_bytes_ = kPeriod_bytes;
  std::atomic<uint64_t> limit_bytes_ = 0;  // 0: none
  std::atomic<uint64_t> left_bytes_ = 0;
};

}  // namespace penstock
