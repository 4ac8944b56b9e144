// The samples of a rank, and their order. Pure.
//
// An epoch has one order for any number of ranks: position p belongs to rank
// p % ranks. So all ranks together always read the epoch's next positions, and
// one position is the progress of all of them.
#pragma once

#include <cstdint>
#include <optional>

#include "penstock/loader/epoch_order.h"
#include "penstock/result.h"

namespace penstock {

// Handling of an epoch's last round if it has fewer samples than ranks.
enum class EpochTail {
  kPad,   // samples from the epoch's beginning fill the round
  kDrop,  // the round is left out
};

// Checkpoint of the sampler: any number of ranks can resume the epoch from it.
struct SamplerState {
  uint64_t count = 0;  // samples of the dataset
  uint64_t seed = 0;
  bool shuffle = true;
  uint64_t epoch = 0;
  uint64_t position = 0;  // in the epoch's order: positions before it are done
                          // on all ranks; <= count

  bool operator==(const SamplerState&) const = default;
};

struct SamplerOptions {
  uint64_t count = 0;  // samples of the dataset, 1 to 2^48
  uint64_t seed = 0;
  uint64_t ranks = 1;  // 1 to 2^31
  uint64_t rank = 0;   // < ranks
  EpochTail tail = EpochTail::kPad;
  bool shuffle = true;  // false: every epoch is 0, 1, 2, ...
};

// Immutable, so thread-safe.
class EpochSampler {
 public:
  struct Sample {
    uint64_t epoch = 0;
    uint64_t index = 0;  // in the dataset
  };

  // Resumes at `from`, or starts with epoch 0.
  // Errors: kInvalidArgument  an option out of its range; fewer samples than
  //         ranks with kDrop; a state of another dataset size, seed or
  //         shuffling
  [[nodiscard]] static Result<EpochSampler> create(
      const SamplerOptions& options,
      const std::optional<SamplerState>& from = std::nullopt);

  // The rank's n-th sample, counted from 0 across all epochs. O(1).
  Sample sample_at(uint64_t n) const;

  // The state after n samples on every rank.
  SamplerState state_after(uint64_t n) const;

  // The number of the first sample of the epoch after sample n's.
  uint64_t epoch_end(uint64_t n) const;

  // Of this rank. A resumed epoch has fewer.
  uint64_t samples_per_epoch() const { return rounds_; }

 private:
  EpochSampler(const SamplerOptions& options, const SamplerState& from);
  uint64_t rounds_of(uint64_t positions) const;

  SamplerOptions options_;
  SamplerState from_;
  EpochOrder order_;
  uint64_t rounds_;        // in a whole epoch
  uint64_t first_rounds_;  // left in the first epoch
};

}  // namespace penstock
