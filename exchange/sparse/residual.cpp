#include "exchange/sparse/residual.h"

#include <algorithm>
#include <array>
#include <bit>

#include "exchange/select/kth_magnitude.h"

namespace penstock::exchange {
namespace {

// So many are widened at once: they stay in the first cache.
constexpr size_t kBlock = 2048;
constexpr uint32_t kExponent = 0x7f800000;
// Above it, rounding up would make an infinity.
constexpr uint32_t kLargest = 0x7f7f0000;

float widen(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

// 16 random bits of a place in a step (the finaliser of MurmurHash3).
uint32_t noise(uint32_t place) {
  place ^= place >> 16;
  place *= 0x85ebca6bu;
  place ^= place >> 13;
  place *= 0xc2b2ae35u;
  return place >> 16;
}

uint16_t round_at_random(float value, uint32_t random) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude >= kLargest) {
    // A NaN may have all that makes it one below.
    const bool is_nan = magnitude > kExponent;
    return static_cast<uint16_t>(bits >> 16 | (is_nan ? 0x40u : 0u));
  }
  return static_cast<uint16_t>((bits + random) >> 16);
}

void add_all(std::span<const float> gradient, float* sums) {
  for (size_t i = 0; i < gradient.size(); ++i) sums[i] += gradient[i];
}

}  // namespace

Residual Residual::float32(size_t elements, Arena& arena) {
  Residual residual;
  residual.wide_ = arena.take<float>(elements);
  return residual;
}

Residual Residual::bfloat16(size_t elements, Arena& arena) {
  Residual residual;
  residual.narrow_ = arena.take<uint16_t>(elements);
  return residual;
}

void Residual::accumulate(std::span<const float> gradient) {
  if (narrow_.empty()) return add_all(gradient, wide_.data());
  std::array<float, kBlock> sums;
  for (size_t i = 0; i < gradient.size(); i += kBlock) {
    const size_t count = std::min(kBlock, gradient.size() - i);
    std::transform(narrow_.begin() + std::ptrdiff_t(i),
                   narrow_.begin() + std::ptrdiff_t(i + count), sums.begin(),
                   widen);
    add_all(gradient.subspan(i, count), sums.data());
    narrow({sums.data(), count}, i);
  }
}

SelectPass Residual::select(std::span<const float> gradient, size_t first,
                            size_t size, float threshold, SparseRoom room) {
  if (narrow_.empty()) {
    return accumulate_and_select(gradient, wide_.subspan(first, size),
                                 threshold, static_cast<uint32_t>(first), room);
  }
  return select_narrow(gradient, first, size, threshold, room);
}

SelectPass Residual::select_narrow(std::span<const float> gradient,
                                   size_t first, size_t size, float threshold,
                                   SparseRoom room) {
  SelectPass all;
  std::array<float, kBlock> sums;
  for (size_t i = 0; i < size; i += kBlock) {
    const size_t count = std::min(kBlock, size - i);
    for (size_t j = 0; j < count; ++j) sums[j] = widen(narrow_[first + i + j]);
    const SelectPass found = accumulate_and_select(
        gradient.empty() ? gradient : gradient.subspan(i, count),
        {sums.data(), count}, threshold, static_cast<uint32_t>(first + i),
        {room.indices.subspan(all.taken), room.values.subspan(all.taken)});
    narrow({sums.data(), count}, first + i);
    all.taken += found.taken;
    all.candidates += found.candidates;
    all.is_finite = all.is_finite && found.is_finite;
  }
  return all;
}

void Residual::narrow(std::span<const float> values, size_t first) {
  const auto salt = static_cast<uint32_t>(step_) * 0x9e3779b9u;
  for (size_t i = 0; i < values.size(); ++i) {
    narrow_[first + i] = round_at_random(
        values[i], noise(static_cast<uint32_t>(first + i) ^ salt));
  }
}

void Residual::add(size_t element, float value) {
  if (narrow_.empty()) {
    wide_[element] += value;
    return;
  }
  const float sum = widen(narrow_[element]) + value;
  narrow({&sum, 1}, element);
}

float Residual::kth_magnitude(size_t k) const {
  return narrow_.empty() ? exchange::kth_magnitude(wide_, k)
                         : kth_magnitude_bfloat16(narrow_, k);
}

void Residual::read(std::span<float> values) const {
  std::copy(wide_.begin(), wide_.end(), values.begin());
  std::transform(narrow_.begin(), narrow_.end(), values.begin(), widen);
}

void Residual::write(std::span<const float> values) {
  if (narrow_.empty()) {
    std::copy(values.begin(), values.end(), wide_.begin());
  } else {
    narrow(values, 0);
  }
}

}  // namespace penstock::exchange
