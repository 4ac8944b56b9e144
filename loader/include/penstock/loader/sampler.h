// Which samples a rank loads, and in what order. Pure.
//
// An epoch has one order, whatever the number of ranks: position p of it is
// rank p % ranks's. So the ranks' next samples together are always the epoch's
// next positions, and one position says where all of them are.
#pragma once

#include <cstdint>
#include <optional>

#include "penstock/loader/epoch_order.h"
#include "penstock/result.h"

namespace penstock {

// What becomes of an epoch's end that is no whole round of all ranks.
enum class EpochTail {
  kPad,   // the round is filled up from the epoch's beginning
  kDrop,  // the round is left out
};

// All that has to be kept to go on with an epoch, by any number of ranks.
struct SamplerState {
  uint64_t count = 0;  // samples of the dataset
  uint64_t seed = 0;
  bool shuffle = true;
  uint64_t epoch = 0;
  uint64_t position = 0;  // of the epoch's order: what all ranks have behind
                          // them; <= count

  bool operator==(const SamplerState&) const = default;
};

struct SamplerOptions {
  uint64_t count = 0;  // samples of the dataset, 1 to 2^48
  uint64_t seed = 0;
  uint64_t ranks = 1;  // 1 to 2^31
  uint64_t rank = 0;   // < ranks
  EpochTail tail = EpochTail::kPad;
  bool shuffle = true;  // else every epoch is 0, 1, 2, ...
};

// Immutable, and so for any number of threads.
class EpochSampler {
 public:
  struct Sample {
    uint64_t epoch = 0;
    uint64_t index = 0;  // in the dataset
  };

  // Goes on where `from` says, or begins with epoch 0.
  // Errors: kInvalidArgument  an option out of its range, fewer samples than
  //         ranks under kDrop, or a state of another dataset size, seed or
  //         shuffling
  [[nodiscard]] static Result<EpochSampler> create(
      const SamplerOptions& options,
      const std::optional<SamplerState>& from = std::nullopt);

  // The rank's n-th sample, from 0, epoch after epoch without an end. O(1).
  Sample sample_at(uint64_t n) const;

  // The state when every rank has n samples behind it.
  SamplerState state_after(uint64_t n) const;

  // The number of the first sample that is of a later epoch than sample n.
  uint64_t epoch_end(uint64_t n) const;

  // Of this rank; an epoch that is gone on with has fewer.
  uint64_t samples_per_epoch() const { return rounds_; }

 private:
  EpochSampler(const SamplerOptions& options, const SamplerState& from);
  uint64_t rounds_of(uint64_t positions) const;

  SamplerOptions options_;
  SamplerState from_;
  EpochOrder order_;
  uint64_t rounds_;        // of a whole epoch
  uint64_t first_rounds_;  // of what is left of the first
};

}  // namespace penstock
