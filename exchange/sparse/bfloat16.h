// bfloat16 numbers by their bits, and those of a float. Pure; integers only, so
// that a GPU's compiler makes the same of it.
#pragma once

#include <cstdint>

namespace penstock::exchange {

constexpr uint32_t widened_bits(uint16_t narrow) {
  return static_cast<uint32_t>(narrow) << 16;
}

// What the roundings of a step depend on, beside the place.
constexpr uint32_t rounding_salt(uint64_t step) {
  return static_cast<uint32_t>(step) * 0x9e3779b9u;
}

// 16 random bits of a place in a step (the finaliser of MurmurHash3).
constexpr uint32_t rounding_noise(uint32_t place, uint32_t salt) {
  place ^= salt;
  place ^= place >> 16;
  place *= 0x85ebca6bu;
  place ^= place >> 13;
  place *= 0xc2b2ae35u;
  return place >> 16;
}

constexpr uint16_t rounded_bits(uint32_t bits, uint32_t noise) {
  constexpr uint32_t kExponent = 0x7f800000;
  // Above it, rounding up would make an infinity.
  constexpr uint32_t kLargest = 0x7f7f0000;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude >= kLargest) {
    // A NaN may have all that makes it one below.
    const bool is_nan = magnitude > kExponent;
    return static_cast<uint16_t>(bits >> 16 | (is_nan ? 0x40u : 0u));
  }
  return static_cast<uint16_t>((bits + noise) >> 16);
}

}  // namespace penstock::exchange
