// Room for the cache in the job's memory. Callers may ask often; the cgroups
// are read rarely.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "loader/cache/fill_share.h"
#include "loader/data/memory_room.h"

namespace penstock {

// Thread-safe if `look` is.
class MemoryWatch {
 public:
  // The cache leaves limit / kFreePart free.
  static constexpr uint64_t kFreePart = 16;
  // The cgroups are read again after this time, or this many bytes filled.
  static constexpr uint64_t kPeriod_ns = 250000000;
  static constexpr uint64_t kPeriod_bytes = 4 << 20;

  using Look = std::function<std::optional<MemoryRoom>()>;
  explicit MemoryWatch(Look look = [] { return group_memory(); });

  // Bytes that may be stored; UINT64_MAX without a limit. filled: of all the
  // job's processes. Bytes not settled at the last reading count as taken.
  uint64_t room_bytes(uint64_t now_ns, const FillCounts& filled);

  // Bytes to evict, once programs have used more than half of the free part;
  // 0: none.
  uint64_t excess_bytes(uint64_t now_ns, const FillCounts& filled);

 private:
  void look_again(uint64_t now_ns, const FillCounts& filled);
  void take(const std::optional<MemoryRoom>& room, const FillCounts& filled);

  const Look look_;
  std::atomic<uint64_t> looked_ns_ = 0;
  // As of the last reading.
  std::atomic<uint64_t> filled_bytes_ = 0;
  std::atomic<uint64_t> settled_bytes_ = 0;
  std::atomic<uint64_t> limit_bytes_ = 0;  // 0: no limit
  std::atomic<uint64_t> left_bytes_ = 0;
};

}  // namespace penstock
