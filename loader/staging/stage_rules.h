// Who may do what in a share: decided from words that were read, and nothing
// else. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "loader/staging/stage_layout.h"

namespace penstock {

// The batches that may be prepared now: none that no job wants, none that has
// no slot before the slowest job has gone on.
struct StageWindow {
  uint64_t begin = 0;  // the slowest active job's next batch
  uint64_t end = 0;    // == begin: none

  bool holds(uint64_t batch) const { return begin <= batch && batch < end; }
};

// Of one active job, as it goes into the window of all.
struct StagePlace {
  uint64_t next = 0;
  uint64_t end = UINT64_MAX;  // the first batch that it does not want
};
StageWindow stage_window(std::span<const StagePlace> active, uint32_t window);

// REQUIRES: the word is not unused.
constexpr uint64_t batch_of(const StageWord& word, uint32_t slot,
                            uint32_t window) {
  return word.lap * window + slot;
}

// What a slot's word says of a batch of the window that belongs there.
enum class SlotRule {
  kDone,     // it is ready, or even gone
  kFree,     // its slot can be had: what stands there nobody wants any more,
             // or was left
  kClaimed,  // somebody prepares it, or what stood there before
};
SlotRule slot_rule(const StageWord& word, uint64_t batch, uint32_t window);

// Whether a batch that belongs between what stands in the slot and this one is
// passed over, as no job is at it, nor before.
constexpr bool passes_over(const StageWord& word, uint64_t batch,
                           uint32_t window) {
  const uint64_t next_lap =
      word.state == StageWord::State::kUnused ? 0 : word.lap + 1;
  return batch / window > next_lap;
}

// The first epoch of which no batch was claimed; `newest`: the slots' newest
// batch + 1, or 0.
constexpr uint64_t epoch_to_join(uint64_t newest, uint64_t batches_per_epoch) {
  return (newest + batches_per_epoch - 1) / batches_per_epoch;
}

// Whether a job that is at `next` keeps the one that wants `batch` from it.
constexpr bool is_in_the_way(uint64_t next, uint64_t batch, uint32_t window) {
  return next + window <= batch;
}
// Whether it is its own fault: its batch is there, or was, as the word of that
// batch's slot says.
bool could_go_on(const StageWord& word, uint64_t next, uint32_t window);

// For how long a word that others change has been seen as it is. Time counts
// only while somebody looks: who was stopped himself blames nobody for it.
class Stillness {
 public:
  static constexpr uint64_t kMostStep_ns = 500000000;  // between two looks

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
