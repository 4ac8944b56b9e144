// Claims: which thread prepares which batch of a share, in which buffer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "loader/staging/stage_jobs.h"

namespace penstock {

// Claims that exceeded the wait limit of this process (StageTimes::claim_ns);
// their owners may be suspended. Thread-safe.
class OverdueClaims {
 public:
  explicit OverdueClaims(uint32_t window)
      : words_(std::make_unique<std::atomic<uint64_t>[]>(window)) {}

  void mark(uint32_t slot, uint64_t word) { words_[slot] = word; }
  bool has(uint32_t slot, uint64_t word) const { return words_[slot] == word; }

 private:
  std::unique_ptr<std::atomic<uint64_t>[]> words_;  // 0: none
};

// One thread's right to prepare a batch, in a buffer that it alone writes.
struct StageClaim {
  uint64_t batch = 0;
  uint32_t buffer = 0;
  uint64_t word = 0;  // value of the batch's slot while the claim holds
  uint64_t tag = 0;   // of the buffer
};

// One per process: its threads' claims are told apart here. Thread-safe. The
// constructor's arguments must outlive it.
class StageClaims {
 public:
  StageClaims(const StageFile& file, const OverdueClaims& overdue)
      : file_(file),
        overdue_(overdue),
        jobs_(file),
        has_claim_(
            std::make_unique<std::atomic<bool>[]>(file.shape().buffers)) {}

  // Claims the first batch of the window that is unclaimed, whose claim is
  // overdue, or, with look_for_ended, whose owner has ended. Each claim must
  // end in publish() or leave(). nullopt: none now; header().room notifies of
  // changes.
  [[nodiscard]] std::optional<StageClaim> claim(bool look_for_ended);
  // Whether the claim was not taken over yet; may be outdated on return.
  bool holds(const StageClaim& claim) const;
  // Makes the buffer's contents the batch. False: the claim was taken over.
  bool publish(const StageClaim& claim);
  // Abandons the claim; another thread or process will prepare the batch.
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
  // By buffer: a thread of this process has a claim on it, even one taken over.
  // A second thread's claim of the same batch and buffer would have the same
  // slot word.
  const std::unique_ptr<std::atomic<bool>[]> has_claim_;
};

}  // namespace penstock
