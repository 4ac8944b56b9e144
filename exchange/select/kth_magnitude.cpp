#include "exchange/select/kth_magnitude.h"

#include <array>
#include <bit>
#include <cstdint>

namespace penstock::exchange {
namespace {

// The bits of a magnitude, without its sign, as they order numbers. The first
// digit has the exponent and the mantissa's first three bits.
constexpr int kBits = 31;
constexpr int kDigits = 3;
constexpr int kDigitBits[kDigits] = {11, 10, 10};
constexpr size_t kMostBins = 1 << 11;
// Counters of neighbours are apart, for a processor waits where one is raised
// twice in a row.
constexpr size_t kTables = 4;

using Counts = std::array<std::array<uint32_t, kMostBins>, kTables>;

uint32_t magnitude_bits(float value) {
  return std::bit_cast<uint32_t>(value) & 0x7fffffffu;
}

// Of those whose bits above `shift + bits` are `prefix`.
void count(std::span<const float> values, uint32_t prefix, int shift, int bits,
           Counts& counts) {
  const uint32_t mask = (1u << bits) - 1;
  for (auto& table : counts) table.fill(0);
  const auto add = [&](float value, size_t table) {
    const uint32_t digits = magnitude_bits(value) >> shift;
    if (digits >> bits == prefix) ++counts[table][digits & mask];
  };
  size_t i = 0;
  for (; i + kTables <= values.size(); i += kTables) {
    for (size_t table = 0; table < kTables; ++table) {
      add(values[i + table], table);
    }
  }
  for (; i < values.size(); ++i) add(values[i], 0);
}

}  // namespace

float kth_magnitude(std::span<const float> values, size_t k) {
  Counts counts;
  uint32_t prefix = 0;
  int shift = kBits;
  size_t left = k;  // how far down among those with the prefix
  for (const int bits : kDigitBits) {
    shift -= bits;
    count(values, prefix, shift, bits, counts);
    uint32_t digit = (1u << bits) - 1;
    for (;; --digit) {
      size_t here = 0;
      for (const auto& table : counts) here += table[digit];
      if (here >= left || digit == 0) break;
      left -= here;
    }
    prefix = prefix << bits | digit;
  }
  return std::bit_cast<float>(prefix);
}

}  // namespace penstock::exchange
