#include "exchange/sparse/residual.h"

#include <algorithm>
#include <array>
#include <bit>

#include "exchange/device/device.h"
#include "exchange/select/kth_magnitude.h"
#include "exchange/sparse/bfloat16.h"

namespace penstock::exchange {
namespace {

// Elements widened at once: 8 KiB of floats stay in the first-level cache.
constexpr size_t kBlock = 2048;

float widen(uint16_t bits) { return std::bit_cast<float>(widened_bits(bits)); }

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

Residual Residual::on(Device& device, Residual residual) {
  residual.device_ = &device;
  return residual;
}

Status Residual::status() const {
  return device_ != nullptr ? device_->status() : Done{};
}

DeviceResidual Residual::there() const {
  return {.wide = wide_.data(),
          .narrow = narrow_.data(),
          .elements = size(),
          .step = step_};
}

void Residual::accumulate(const float* gradient, void* stream) {
  device_->accumulate(gradient, there(), stream);
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
  if (device_ != nullptr) {
    return device_->select(there(), first, size, threshold, room);
  }
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
  const uint32_t salt = rounding_salt(step_);
  for (size_t i = 0; i < values.size(); ++i) {
    narrow_[first + i] =
        rounded_bits(std::bit_cast<uint32_t>(values[i]),
                     rounding_noise(static_cast<uint32_t>(first + i), salt));
  }
}

void Residual::add(const SparseView& entries) {
  if (device_ != nullptr) return device_->add(entries, there());
  for (size_t i = 0; i < entries.indices.size(); ++i) {
    add(entries.indices[i], entries.values[i]);
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
  if (device_ != nullptr) return device_->kth_magnitude(there(), k);
  return narrow_.empty() ? exchange::kth_magnitude(wide_, k)
                         : kth_magnitude_bfloat16(narrow_, k);
}

void Residual::read(std::span<float> values) const {
  if (device_ != nullptr) return device_->read(there(), values);
  std::copy(wide_.begin(), wide_.end(), values.begin());
  std::transform(narrow_.begin(), narrow_.end(), values.begin(), widen);
}

void Residual::write(std::span<const float> values) {
  if (device_ != nullptr) {
    device_->write(values, there());
  } else if (narrow_.empty()) {
    std::copy(values.begin(), values.end(), wide_.begin());
  } else {
    narrow(values, 0);
  }
}

}  // namespace penstock::exchange
