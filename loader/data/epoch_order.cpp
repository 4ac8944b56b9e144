#include "penstock/loader/epoch_order.h"

#include "loader/data/random.h"

namespace penstock {

EpochOrder::EpochOrder(uint64_t count, uint64_t seed)
    : count_(count), seed_(seed), half_bits_(1) {
  while ((uint64_t{1} << (2 * half_bits_)) < count) ++half_bits_;
}

// A Feistel network: a bijection of [0, 2^(2 half_bits_)) for every key.
uint64_t EpochOrder::permute_once(uint64_t key, uint64_t value) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = value >> half_bits_;
  uint64_t right = value & mask;
  for (uint64_t round = 0; round < 4; ++round) {
    const uint64_t mixed = left ^ (mix64(mix64(key + round) + right) & mask);
    left = right;
    right = mixed;
  }
  return (left << half_bits_) | right;
}

// Cycle walking: to apply the bijection until the value is in [0, count) again
// is a bijection of [0, count).
uint64_t EpochOrder::sample_at(uint64_t epoch, uint64_t position) const {
  const uint64_t key = sample_seed(seed_, epoch, ~uint64_t{0});
  uint64_t value = permute_once(key, position);
  while (value >= count_) value = permute_once(key, value);
  return value;
}

}  // namespace penstock
