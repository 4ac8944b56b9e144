// Check of sums for infinities and NaNs.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

namespace penstock::exchange {

// Whether no value is infinite or NaN.
inline bool are_finite(std::span<const float> values) {
  constexpr uint32_t kExponent = 0x7f800000;
  uint32_t found = 0;  // no early exit, so that the loop is vectorised
  for (const float value : values) {
    const uint32_t exponent = std::bit_cast<uint32_t>(value) & kExponent;
    found |= exponent == kExponent ? 1u : 0u;
  }
  return found == 0;
}

}  // namespace penstock::exchange
