// Who prepares which batch of a share, and where.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "loader/staging/stage_jobs.h"

namespace penstock {

// The claims that this process has waited for long enough: whoever has one may
// be stopped. Thread-safe.
class OverdueClaims {
 public:
  explicit OverdueClaims(uint32_t window)
      : words_(std::make_unique<std::atomic<uint64_t>[]>(window)) {}

  void mark(uint32_t slot, uint64_t word) { words_[slot] = word; }
  bool has(uint32_t slot, uint64_t word) const { return words_[slot] == word; }

 private:
  std::unique_ptr<std::atomic<uint64_t>[]> words_;  // 0: none
};

// A batch that one thread prepares, in a buffer that it alone writes to.
struct StageClaim {
  uint64_t batch = 0;
  uint32_t buffer = 0;
  uint64_t word = 0;  // of the batch's slot, as long as the claim holds
  uint64_t tag = 0;   // of the buffer
};

// One for all threads of the process that has joined: they tell each other's
// claims apart by it. Thread-safe. What it is given must outlive it.
class StageClaims {
 public:
  StageClaims(const StageFile& file, const OverdueClaims& overdue)
      : file_(file),
        overdue_(overdue),
        jobs_(file),
        has_claim_(
            std::make_unique<std::atomic<bool>[]>(file.shape().buffers)) {}

  // The first batch of the window that nobody prepares, or whose preparer is
  // overdue or, where it is to look for such, has ended. A claim has to be
  // published or given up. nullopt: none now; header().room says when there may
  // be.
  [[nodiscard]] std::optional<StageClaim> claim(bool look_for_ended);
  // Whether nobody has taken it over, as far as is known.
  bool holds(const StageClaim& claim) const;
  // What is in the buffer is the batch. False: somebody else has taken it over.
  bool publish(const StageClaim& claim);
  // What is in the buffer is no batch: others prepare it.
  void leave(const StageClaim& claim);

 private:
  void give_up(const StageClaim& claim);
  std::optional<StageClaim> claim_first(bool look_for_ended);
  std::optional<StageClaim> try_claim(uint64_t batch, bool look_for_ended);
  std::optional<StageClaim> take(uint64_t batch, uint64_t found,
                                 uint32_t buffer);
  std::optional<StageClaim> take_with_spare(uint64_t batch, uint64_t found);
  bool place(StageClaim& claim, uint64_t found);
  bool take_buffer(StageClaim& claim);
  bool take_spare(StageClaim& claim);
  bool take_if_spare(uint32_t buffer, StageClaim& claim);
  bool finish(const StageClaim& claim, StageWord::State state);
  bool is_free(uint64_t tag) const;
  uint64_t new_tag();
  StageSlot& slot_of(uint64_t batch) const {
    return file_.slot(static_cast<uint32_t>(batch % file_.shape().window));
  }

  const StageFile& file_;
  const OverdueClaims& overdue_;
  const StageJobs jobs_;
  // By buffer: a thread of this process is at a claim with it, however stale.
  // Another one's for the same batch would have the same word.
  const std::unique_ptr<std::atomic<bool>[]> has_claim_;
};

}  // namespace penstock
