// Decisions of a share, made only from words that were read before. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "loader/staging/stage_layout.h"

namespace penstock {

// The batches that may be prepared now: each is wanted by a job, and its slot
// is not needed by a slower job.
struct StageWindow {
  uint64_t begin = 0;  // the slowest active job's next batch
  uint64_t end = 0;    // == begin: none

  bool holds(uint64_t batch) const { return begin <= batch && batch < end; }
};

// An active job's part in the window.
struct StagePlace {
  uint64_t next = 0;
  uint64_t end = UINT64_MAX;  // the first batch that the job does not want
};
StageWindow stage_window(std::span<const StagePlace> active, uint32_t window);

// REQUIRES: the word is not unused.
constexpr uint64_t batch_of(const StageWord& word, uint32_t slot,
                            uint32_t window) {
  return word.lap * window + slot;
}

// State of a batch of the window, by the word of its slot.
enum class SlotRule {
  kDone,     // the batch is ready, or was and is gone
  kFree,     // the slot can be claimed: unused, abandoned, or holding an older
             // batch that no job needs
  kClaimed,  // this batch, or an older one of the slot, is being prepared
};
SlotRule slot_rule(const StageWord& word, uint64_t batch, uint32_t window);

// Whether `batch` would pass over older batches of its slot that were never
// claimed. That happens when every active job is already past them.
constexpr bool passes_over(const StageWord& word, uint64_t batch,
                           uint32_t window) {
  const uint64_t next_lap =
      word.state == StageWord::State::kUnused ? 0 : word.lap + 1;
  return batch / window > next_lap;
}

// The first epoch without a claimed batch. newest: see StageJobs::newest().
constexpr uint64_t epoch_to_join(uint64_t newest, uint64_t batches_per_epoch) {
  return (newest + batches_per_epoch - 1) / batches_per_epoch;
}

// Whether a job at batch `next` blocks a job that wants `batch`.
constexpr bool is_in_the_way(uint64_t next, uint64_t batch, uint32_t window) {
  return next + window <= batch;
}
// Whether the job at `next` is itself the cause: its batch is ready, or was.
// word: of that batch's slot.
bool could_go_on(const StageWord& word, uint64_t next, uint32_t window);

// Measures how long a shared word has not changed. The time between two checks
// counts for at most kMostStep_ns: a process that was itself stopped must not
// blame others for that time.
class Stillness {
 public:
  static constexpr uint64_t kMostStep_ns = 500000000;

  bool has_lasted(uint64_t word, uint64_t now_ns, uint64_t limit_ns) {
    if (word != word_) {
      *this = Stillness(word, now_ns);
      return false;
    }
    still_ns_ += std::min(now_ns - looked_ns_, kMostStep_ns);
    looked_ns_ = now_ns;
    return still_ns_ >= limit_ns;
  }

  Stillness() = default;

 private:
  Stillness(uint64_t word, uint64_t now_ns) : word_(word), looked_ns_(now_ns) {}

  uint64_t word_ = UINT64_MAX;
  uint64_t looked_ns_ = 0;
  uint64_t still_ns_ = 0;
};

}  // namespace penstock
