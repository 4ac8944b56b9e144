// The order of an epoch's samples: a random permutation, computed per position,
// so that loader threads need no shared table. Pure.
#pragma once

#include <cstdint>

namespace penstock {

class EpochOrder {
 public:
  // REQUIRES: 1 <= count <= 2^62.
  EpochOrder(uint64_t count, uint64_t seed);

  // The sample at `position` of epoch `epoch`; a permutation of
  // [0, count) for each epoch. REQUIRES: position < count.
  // Thread-safe. O(1); four rounds of mixing, repeated less than four times
  // on average.
  uint64_t sample_at(uint64_t epoch, uint64_t position) const;

 private:
  uint64_t permute_once(uint64_t key, uint64_t value) const;

  uint64_t count_;
  uint64_t seed_;
  int half_bits_;  // 2^(2 half_bits_) >= count_
};

}  // namespace penstock
