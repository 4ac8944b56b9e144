// Conversions between bfloat16 and float, by their bits. Pure. Integers only,
// so that a GPU's compiler gives the same bits.
#pragma once

#include <cstdint>

namespace penstock::exchange {

constexpr uint32_t widened_bits(uint16_t narrow) {
  return static_cast<uint32_t>(narrow) << 16;
}

// Seed of a step's random roundings, for rounding_noise().
constexpr uint32_t rounding_salt(uint64_t step) {
  return static_cast<uint32_t>(step) * 0x9e3779b9u;
}

// 16 pseudorandom bits for the element at `place` in a step: the upper half of
// MurmurHash3's finaliser.
constexpr uint32_t rounding_noise(uint32_t place, uint32_t salt) {
  place ^= salt;
  place ^= place >> 16;
  place *= 0x85ebca6bu;
  place ^= place >> 13;
  place *= 0xc2b2ae35u;
  return place >> 16;
}

// Rounds a float to bfloat16, both as bits. noise: 16 random bits. Rounds away
// from zero with the probability of the dropped fraction, so the mean is exact.
constexpr uint16_t rounded_bits(uint32_t bits, uint32_t noise) {
  constexpr uint32_t kExponent = 0x7f800000;
  // From here on, rounding up would give an infinity: truncate.
  constexpr uint32_t kLargest = 0x7f7f0000;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude >= kLargest) {
    // Truncation could make an infinity of a NaN: set a mantissa bit.
    const bool is_nan = magnitude > kExponent;
    return static_cast<uint16_t>(bits >> 16 | (is_nan ? 0x40u : 0u));
  }
  return static_cast<uint16_t>((bits + noise) >> 16);
}

}  // namespace penstock::exchange
