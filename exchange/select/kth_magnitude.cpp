#include "exchange/select/kth_magnitude.h"

#include <array>
#include <bit>
#include <cstdint>
#include <initializer_list>

namespace penstock::exchange {
namespace {

// Bits without the sign, which as integers sort numbers by magnitude. They are
// counted digit by digit; the first digit is the exponent and the mantissa's
// top three bits.
struct Float32 {
  using Value = float;
  static constexpr int kBits = 31;
  static constexpr std::initializer_list<int> kDigitBits = {11, 10, 10};
  static uint32_t magnitude(float value) {
    return std::bit_cast<uint32_t>(value) & 0x7fffffffu;
  }
};
struct Bfloat16 {
  using Value = uint16_t;
  static constexpr int kBits = 15;
  static constexpr std::initializer_list<int> kDigitBits = {11, 4};
  static uint32_t magnitude(uint16_t value) { return value & 0x7fffu; }
};

constexpr size_t kMostBins = 1 << 11;
// Adjacent values count in different tables: incrementing one counter twice in
// a row stalls the processor.
constexpr size_t kTables = 4;

using Counts = std::array<std::array<uint32_t, kMostBins>, kTables>;

// Counts the digit at `shift` of the values whose higher bits are `prefix`.
template <class Kind>
void count(std::span<const typename Kind::Value> values, uint32_t prefix,
           int shift, int bits, Counts& counts) {
  const uint32_t mask = (1u << bits) - 1;
  for (auto& table : counts) table.fill(0);
  const auto add = [&](typename Kind::Value value, size_t table) {
    const uint32_t digits = Kind::magnitude(value) >> shift;
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

// Returns the bits of the k-th largest magnitude.
template <class Kind>
uint32_t kth(std::span<const typename Kind::Value> values, size_t k) {
  Counts counts;
  uint32_t prefix = 0;
  int shift = Kind::kBits;
  size_t left = k;  // from the top, among values with the prefix
  for (const int bits : Kind::kDigitBits) {
    shift -= bits;
    count<Kind>(values, prefix, shift, bits, counts);
    uint32_t digit = (1u << bits) - 1;
    for (;; --digit) {
      size_t here = 0;
      for (const auto& table : counts) here += table[digit];
      if (here >= left || digit == 0) break;
      left -= here;
    }
    prefix = prefix << bits | digit;
  }
  return prefix;
}

}  // namespace

float kth_magnitude(std::span<const float> values, size_t k) {
  return std::bit_cast<float>(kth<Float32>(values, k));
}

float kth_magnitude_bfloat16(std::span<const uint16_t> values, size_t k) {
  return std::bit_cast<float>(kth<Bfloat16>(values, k) << 16);
}

}  // namespace penstock::exchange
