// What a stage file holds: the batches that the jobs of a share prepare once
// for all of them.
//
//   0              StageHeader
//   4096           MemberTable, as the cache's
//   8192           StageConsumer[64]: the jobs, and where each of them is
//   12288          StageSlot[window], then StageWriter[buffers], up to the next
//                  4096
//   buffers_offset the buffers, as many bytes each
//
// Batches have numbers that never come again: batch n of epoch e is
// e x batches_per_epoch + n. Batch g stands in slot g % window. Everything but
// the buffers is changed by atomic operations only, one word at a time, so that
// a process may be killed, or stopped, between any two of them; what follows
// from that is in docs/staging.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "loader/cache/cache_layout.h"
#include "loader/staging/shared_event.h"

namespace penstock {

inline constexpr uint64_t kStageMagic = 0x3145474154535350;  // "PSSTAGE1"
inline constexpr uint32_t kStageConsumers = 64;
inline constexpr uint32_t kMostWindow = 512;
inline constexpr uint32_t kMostBuffers = 1024;
inline constexpr uint64_t kMostLaps = uint64_t{1} << 30;

// What all who share have to agree on.
struct StageShape {
  uint64_t batches_per_epoch = 1;  // >= 1
  uint64_t buffer_bytes = 4096;    // a multiple of 4096
  uint32_t window = 8;    // batches from the slowest job on, 2 to kMostWindow
  uint32_t buffers = 12;  // > window, <= kMostBuffers
};

struct StageHeader {
  uint64_t magic;
  uint64_t fingerprint;  // of what is prepared
  StageShape shape;
  uint64_t keep_s;      // 0: when nobody uses it any more it goes, as a cache
  char prepared[1024];  // what it is, for people; ends in a zero byte
  uint32_t maker;       // the member that made it, and gets its memory
  uint32_t maker_generation;

  std::atomic<uint32_t> has_memory;  // 1: for all buffers of the window

  alignas(64) std::atomic<uint64_t> tickets;  // that were given out
  // Nobody comes in before this batch: some that are older were passed over.
  alignas(64) std::atomic<uint64_t> floor;
  alignas(64) SharedEvent ready;  // a batch became ready
  alignas(64) SharedEvent room;   // one may have become claimable
  // Since the file was made, of all who use it.
  alignas(64) std::atomic<uint64_t> prepared_batches;
  std::atomic<uint64_t> taken_over;  // claims
  std::atomic<uint64_t> put_out;     // jobs that held up the others
};
static_assert(sizeof(StageHeader) <= kMembersOffset);
static_assert(offsetof(StageHeader, keep_s) == kCacheKeepOffset);

struct alignas(64) StageConsumer {
  std::atomic<uint64_t> word;  // see ConsumerWord
  std::atomic<uint64_t> held;  // a buffer that it reads, + 1; 0: none
  std::atomic<uint64_t> end;   // the first batch that it does not want
};
inline constexpr uint64_t kConsumersOffset = 8192;
inline constexpr uint64_t kStageSlotsOffset = 12288;
static_assert(kStageConsumers * sizeof(StageConsumer) <=
              kStageSlotsOffset - kConsumersOffset);

struct alignas(64) StageSlot {
  std::atomic<uint64_t> word;  // see StageWord
};

// Of a job. One that is active has released all batches before `next`, and none
// behind it goes away before it has.
struct ConsumerWord {
  enum class State : uint8_t {
    kFree = 0,
    kActive = 1,
    kOut = 2,  // nobody waits for it: it has not come in yet, or was put out
  };
  State state = State::kFree;
  uint32_t member = 0;      // < kMembers
  uint32_t generation = 0;  // of that member's number, 12 bits
  uint64_t next = 0;        // batch, 40 bits

  constexpr uint64_t packed() const {
    return static_cast<uint64_t>(state) | uint64_t{member} << 2 |
           uint64_t{generation} << 12 | next << 24;
  }
  static constexpr ConsumerWord of(uint64_t packed) {
    return {static_cast<State>(packed & 3),
            static_cast<uint32_t>(packed >> 2 & (kMembers - 1)),
            static_cast<uint32_t>(packed >> 12 & (SlotWord::kGenerations - 1)),
            packed >> 24};
  }
};

// Of a slot: the batch that stands in it, or did.
struct StageWord {
  enum class State : uint8_t {
    kUnused = 0,   // no batch yet
    kClaimed = 1,  // a member prepares it
    kReady = 2,
    kLeft = 3,  // who had claimed it left it to others
  };
  State state = State::kUnused;
  uint32_t member = 0;  // who claimed it
  uint32_t generation = 0;
  uint32_t buffer = 0;  // < kMostBuffers
  uint64_t lap = 0;     // batch / window, < kMostLaps

  constexpr uint64_t packed() const {
    return static_cast<uint64_t>(state) | uint64_t{member} << 2 |
           uint64_t{generation} << 12 | uint64_t{buffer} << 24 | lap << 34;
  }
  static constexpr StageWord of(uint64_t packed) {
    return {static_cast<State>(packed & 3),
            static_cast<uint32_t>(packed >> 2 & (kMembers - 1)),
            static_cast<uint32_t>(packed >> 12 & (SlotWord::kGenerations - 1)),
            static_cast<uint32_t>(packed >> 24 & (kMostBuffers - 1)),
            packed >> 34};
  }
};

// Of a buffer: who may write to it. Each time that a member takes one it gets
// another ticket, so that a tag never comes again.
struct BufferTag {
  bool is_written = false;  // else its last writer has done
  uint32_t member = 0;
  uint32_t generation = 0;
  uint64_t ticket = 0;  // 40 bits

  constexpr uint64_t packed() const {
    return uint64_t{is_written} | uint64_t{member} << 2 |
           uint64_t{generation} << 12 | ticket << 24;
  }
  static constexpr BufferTag of(uint64_t packed) {
    return {(packed & 1) != 0,
            static_cast<uint32_t>(packed >> 2 & (kMembers - 1)),
            static_cast<uint32_t>(packed >> 12 & (SlotWord::kGenerations - 1)),
            packed >> 24};
  }
};

// Of a buffer.
struct alignas(64) StageWriter {
  std::atomic<uint64_t> tag;  // see BufferTag
  // Changes with each sample that whoever writes to it has done.
  std::atomic<uint64_t> progress;
};

constexpr uint64_t stage_writers_offset(uint32_t window) {
  return kStageSlotsOffset + window * sizeof(StageSlot);
}
constexpr uint64_t stage_buffers_offset(const StageShape& shape) {
  const uint64_t end =
      stage_writers_offset(shape.window) + shape.buffers * sizeof(StageWriter);
  return (end + 4095) / 4096 * 4096;
}
constexpr uint64_t stage_bytes(const StageShape& shape) {
  return stage_buffers_offset(shape) + shape.buffers * shape.buffer_bytes;
}

}  // namespace penstock
