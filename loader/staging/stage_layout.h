// Layout of a stage file: the batches of a share, each prepared once for all of
// its jobs.
//
//   0              StageHeader
//   4096           MemberTable, as in a cache file
//   8192           StageConsumer[64]: the jobs and their next batches
//   12288          StageSlot[window], then StageWriter[buffers], up to the next
//                  4096
//   buffers_offset the buffers, all of the same size
//
// Batch numbers never repeat: batch n of epoch e is e x batches_per_epoch + n.
// Batch g belongs to slot g % window.
//
// Everything but the buffers changes by atomic operations only, one word at a
// time: a process may be killed or stopped between any two of them. For the
// consequences see docs/staging.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "loader/cache/cache_layout.h"
#include "loader/pipeline/event_count.h"

namespace penstock {

inline constexpr uint64_t kStageMagic = 0x3145474154535350;  // "PSSTAGE1"
inline constexpr uint32_t kStageConsumers = 64;
inline constexpr uint32_t kMostWindow = 512;
inline constexpr uint32_t kMostBuffers = 1024;
inline constexpr uint64_t kMostLaps = uint64_t{1} << 30;

// Sizes on which all members must agree.
struct StageShape {
  uint64_t batches_per_epoch = 1;  // >= 1
  uint64_t buffer_bytes = 4096;    // a multiple of 4096
  uint32_t window = 8;    // batches from the slowest job on, 2 to kMostWindow
  uint32_t buffers = 12;  // > window, <= kMostBuffers
};

struct StageHeader {
  uint64_t magic;
  uint64_t fingerprint;  // of data set and options
  StageShape shape;
  uint64_t keep_s;      // 0: removed with its last user, as a cache would be
  char prepared[1024];  // StagedData::prepared, zero-terminated
  uint32_t maker;       // the member that created it and allocates its memory
  uint32_t maker_generation;

  std::atomic<uint32_t> has_memory;  // 1: the window's buffers are allocated

  alignas(64) std::atomic<uint64_t> tickets;  // number of tickets issued
  // No job enters before this batch: some older batches were passed over.
  alignas(64) std::atomic<uint64_t> floor;
  alignas(64) SharedEvent ready;  // a batch became ready
  alignas(64) SharedEvent room;   // a batch may have become claimable
  // Totals of all processes since the file was created.
  alignas(64) std::atomic<uint64_t> prepared_batches;
  std::atomic<uint64_t> taken_over;  // claims
  std::atomic<uint64_t> put_out;     // jobs that blocked others
};
static_assert(sizeof(StageHeader) <= kMembersOffset);
static_assert(offsetof(StageHeader, keep_s) == kCacheKeepOffset);

struct alignas(64) StageConsumer {
  std::atomic<uint64_t> word;  // see ConsumerWord
  std::atomic<uint64_t> held;  // the buffer that the job reads, + 1; 0: none
  std::atomic<uint64_t> end;   // the first batch that the job does not want
};
inline constexpr uint64_t kConsumersOffset = 8192;
inline constexpr uint64_t kStageSlotsOffset = 12288;
static_assert(kStageConsumers * sizeof(StageConsumer) <=
              kStageSlotsOffset - kConsumersOffset);

struct alignas(64) StageSlot {
  std::atomic<uint64_t> word;  // see StageWord
};

// State of a job. An active job has released all batches before `next`; batches
// from `next` on are kept until it releases them.
struct ConsumerWord {
  enum class State : uint8_t {
    kFree = 0,
    kActive = 1,
    kOut = 2,  // not entered yet, or expelled: nobody waits for it
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

// State of a slot, and its latest batch.
struct StageWord {
  enum class State : uint8_t {
    kUnused = 0,   // no batch yet
    kClaimed = 1,  // a member prepares it
    kReady = 2,
    kLeft = 3,  // claim abandoned: another member may prepare it
  };
  State state = State::kUnused;
  uint32_t member = 0;  // owner of the claim
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

// The writer of a buffer. Each time that a member takes a buffer it uses a new
// ticket, so tags never repeat.
struct BufferTag {
  bool is_written = false;  // false: the last writer has finished
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

// A buffer's writer and its progress.
struct alignas(64) StageWriter {
  std::atomic<uint64_t> tag;  // see BufferTag
  // Grows with each sample that the writer has finished.
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
