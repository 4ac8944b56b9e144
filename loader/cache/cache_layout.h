// Layout of a cache file: a header, tables of members and jobs, one slot per
// sample, and the samples. A sample never moves.
//
//   0            CacheHeader
//   4096         MemberTable: how often each member number was taken
//   8192         ShareTable: how much each job may fill, and has filled
//   49152        Slot[samples], up to the next 4096
//   data_offset  label and bytes of samples, each at a multiple of 64
//
// Numbers are in native byte order: the file never leaves the machine.
// Everything but the samples is mapped by all processes and changed only by
// atomic stores: a process may be killed between any two of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "common/cache_files.h"

namespace penstock {

inline constexpr uint64_t kCacheMagic = 0x3145484341435350;  // "PSCACHE1"
inline constexpr uint32_t kMembers = kCacheMembers;
inline constexpr uint32_t kShares = 1024;
inline constexpr uint64_t kPlaceBytes = 64;  // alignment of samples
inline constexpr uint64_t kMostOffset = uint64_t{1} << 46;  // limit of SlotWord

static_assert(std::atomic<uint64_t>::is_always_lock_free);

struct CacheHeader {
  uint64_t magic;
  uint64_t fingerprint;  // of the data set
  uint64_t samples;      // of the data set
  uint64_t data_offset;
  uint64_t created_s;            // since 1970
  std::atomic<uint64_t> keep_s;  // to keep the cache after its last use
  char data_set[2048];           // path, for messages; zero-terminated

  alignas(64) std::atomic<uint64_t> end_offset;  // of the places given out
  alignas(64) std::atomic<uint64_t> ready_samples;
  std::atomic<uint64_t> ready_bytes;
  // Totals of all processes since the cache was created.
  alignas(64) std::atomic<uint64_t> hits;
  std::atomic<uint64_t> hit_bytes;
  std::atomic<uint64_t> misses;
  std::atomic<uint64_t> dropped;  // samples evicted to free memory for programs
  std::atomic<uint64_t> damaged;  // samples with a wrong checksum
};
inline constexpr uint64_t kMembersOffset = 4096;
static_assert(sizeof(CacheHeader) <= kMembersOffset);
static_assert(offsetof(CacheHeader, keep_s) == kCacheKeepOffset);

struct MemberTable {
  std::atomic<uint32_t> generations[kMembers];
};
inline constexpr uint64_t kSharesOffset = 8192;
static_assert(sizeof(MemberTable) <= kSharesOffset - kMembersOffset);

// The jobs that fill the cache. Each fills it from its own memory cgroup.
struct ShareTable {
  struct Share {
    std::atomic<uint64_t> key;  // of the job; 0: free
    std::atomic<uint64_t> most_bytes;
    std::atomic<uint64_t> filled_bytes;   // ready or being filled
    std::atomic<uint64_t> settled_bytes;  // ready; part of filled_bytes
    std::atomic<uint64_t> dropped_ns;     // last eviction, CLOCK_MONOTONIC
  };
  Share shares[kShares];
};
inline constexpr uint64_t kSlotsOffset = 49152;
static_assert(sizeof(ShareTable) <= kSlotsOffset - kSharesOffset);

struct Slot {
  std::atomic<uint64_t> word;  // see SlotWord
  // Bytes with label in the lower half. Upper half of a ready slot: the lower
  // half of the checksum; of a claimed slot with a place: number of the share
  // that the bytes are counted in.
  std::atomic<uint64_t> facts;
};

// State of a slot. Only a ready sample is served: its bytes and facts are
// written before the slot becomes ready.
struct SlotWord {
  enum class State : uint8_t {
    kEmpty = 0,
    kClaimed = 1,  // a member is storing the sample
    kReady = 2,
  };
  State state = State::kEmpty;
  uint32_t member = 0;      // kClaimed: owner of the claim, < kMembers; kReady:
                            // number of the share that filled it, < kShares
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

// File space of a sample. bytes: with its label.
constexpr uint64_t place_bytes(uint64_t bytes) {
  return (bytes + kPlaceBytes - 1) / kPlaceBytes * kPlaceBytes;
}

constexpr uint64_t cache_data_offset(uint64_t samples) {
  return (kSlotsOffset + samples * sizeof(Slot) + 4095) / 4096 * 4096;
}

}  // namespace penstock
