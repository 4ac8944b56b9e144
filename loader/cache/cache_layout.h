// What a cache file holds: a header, a table of who fills how much, one slot
// per sample, and behind them the samples, each where it was put once.
//
//   0            CacheHeader
//   4096         MemberTable: how often each member's number was taken
//   8192         ShareTable: what each job may fill, and has filled
//   49152        Slot[samples], up to the next 4096
//   data_offset  label and bytes of samples, from multiples of 64 on
//
// Numbers are the machine's own: the file never leaves it. Everything but
// samples is mapped by all who use the cache and changed by atomic stores only,
// so that a process may be killed between any two of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "common/cache_files.h"

namespace penstock {

inline constexpr uint64_t kCacheMagic = 0x3145484341435350;  // "PSCACHE1"
inline constexpr uint32_t kMembers = kCacheMembers;
inline constexpr uint32_t kShares = 1024;
inline constexpr uint64_t kPlaceBytes = 64;  // samples begin at multiples
inline constexpr uint64_t kMostOffset = uint64_t{1} << 46;  // that a slot says

static_assert(std::atomic<uint64_t>::is_always_lock_free);

struct CacheHeader {
  uint64_t magic;
  uint64_t fingerprint;  // of the data set
  uint64_t samples;      // of it
  uint64_t data_offset;
  uint64_t created_s;            // since 1970
  std::atomic<uint64_t> keep_s;  // after the last process that used it
  char data_set[2048];           // its path, for people; ends in a zero byte

  alignas(64) std::atomic<uint64_t> end_offset;  // of what was given out
  alignas(64) std::atomic<uint64_t> ready_samples;
  std::atomic<uint64_t> ready_bytes;
  // Since the cache was made, of all who use it.
  alignas(64) std::atomic<uint64_t> hits;
  std::atomic<uint64_t> hit_bytes;
  std::atomic<uint64_t> misses;
  std::atomic<uint64_t> dropped;  // samples that made room for programs
  std::atomic<uint64_t> damaged;  // samples whose checksum was wrong
};
inline constexpr uint64_t kMembersOffset = 4096;
static_assert(sizeof(CacheHeader) <= kMembersOffset);
static_assert(offsetof(CacheHeader, keep_s) == kCacheKeepOffset);

struct MemberTable {
  std::atomic<uint32_t> generations[kMembers];
};
inline constexpr uint64_t kSharesOffset = 8192;
static_assert(sizeof(MemberTable) <= kSharesOffset - kMembersOffset);

// Of the jobs that fill the cache, each in its own memory.
struct ShareTable {
  struct Share {
    std::atomic<uint64_t> key;  // of the job; 0: free
    std::atomic<uint64_t> most_bytes;
    std::atomic<uint64_t> filled_bytes;   // and being filled
    std::atomic<uint64_t> settled_bytes;  // of these, what is ready
    std::atomic<uint64_t> dropped_ns;  // CLOCK_MONOTONIC of the last time that
                                       // samples of it were dropped
  };
  Share shares[kShares];
};
inline constexpr uint64_t kSlotsOffset = 49152;
static_assert(sizeof(ShareTable) <= kSlotsOffset - kSharesOffset);

struct Slot {
  std::atomic<uint64_t> word;  // see SlotWord
  // Ready: its checksum's lower half << 32 | bytes with label. Claimed, with a
  // place: number of the share that it was counted for << 32 | bytes likewise.
  std::atomic<uint64_t> facts;
};

// What a slot's word says. A sample is served when it is ready, and never
// before: its bytes and facts are written first.
struct SlotWord {
  enum class State : uint8_t {
    kEmpty = 0,
    kClaimed = 1,  // a member reads the sample, and will put it in
    kReady = 2,
  };
  State state = State::kEmpty;
  uint32_t member = 0;      // who claimed it, < kMembers; of one that is ready
                            // the share that it was filled from, < kShares
  uint32_t generation = 0;  // of that member's number, 12 bits
  uint64_t offset = 0;      // in the file, a multiple of kPlaceBytes; 0: none

  static constexpr uint32_t kGenerations = 1 << 12;

  constexpr uint64_t packed() const {
    return static_cast<uint64_t>(state) | uint64_t{member} << 2 |
           uint64_t{generation} << 12 | offset / kPlaceBytes << 24;
  }
  static constexpr SlotWord of(uint64_t packed) {
    return {static_cast<State>(packed & 3),
            static_cast<uint32_t>(packed >> 2 & (kMembers - 1)),
            static_cast<uint32_t>(packed >> 12 & (kGenerations - 1)),
            (packed >> 24) * kPlaceBytes};
  }
};

// Room that a sample takes, its label included.
constexpr uint64_t place_bytes(uint64_t bytes) {
  return (bytes + kPlaceBytes - 1) / kPlaceBytes * kPlaceBytes;
}

constexpr uint64_t cache_data_offset(uint64_t samples) {
  return (kSlotsOffset + samples * sizeof(Slot) + 4095) / 4096 * 4096;
}

}  // namespace penstock
