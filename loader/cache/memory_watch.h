// Whether the job's memory leaves room for the cache: asked often, looked at
// seldom.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "loader/cache/fill_share.h"
#include "loader/memory_room.h"

namespace penstock {

// Thread-safe, if `look` is.
class MemoryWatch {
 public:
  // Of the limit, what the cache leaves free of itself and of everything else.
  static constexpr uint64_t kFreePart = 16;
  // How long, and for how many bytes, one look is good.
  static constexpr uint64_t kPeriod_ns = 250000000;
  static constexpr uint64_t kPeriod_bytes = 4 << 20;

  using Look = std::function<std::optional<MemoryRoom>()>;
  explicit MemoryWatch(Look look = [] { return group_memory(); });

  // What may be put in, in bytes. filled: by all of the job's processes, what
  // they are about to put in included: what was not settled at the last look
  // counts as taken.
  uint64_t room_bytes(uint64_t now_ns, const FillCounts& filled);

  // What has to be given back: programs have come half way into what is left
  // free. 0: nothing.
  uint64_t excess_bytes(uint64_t now_ns, const FillCounts& filled);

 private:
  void look_again(uint64_t now_ns, const FillCounts& filled);
  void take(const std::optional<MemoryRoom>& room, const FillCounts& filled);

  const Look look_;
  std::atomic<uint64_t> looked_ns_ = 0;
  std::atomic<uint64_t> filled_bytes_ = 0;  // by then, and so the next
  std::atomic<uint64_t> settled_bytes_ = 0;
  std::atomic<uint64_t> limit_bytes_ = 0;  // 0: none
  std::atomic<uint64_t> left_bytes_ = 0;
};

}  // namespace penstock
