#include "bench/exchange/gradient_stream.h"

#include <bit>
#include <cmath>
#include <random>

namespace penstock::exchange {
namespace {

constexpr uint32_t kGolden = 0x9e3779b1;
constexpr float kSwell = 0.2f;
constexpr float kSwellSteps = 30;  // steps per radian

// MurmurHash3's finaliser.
uint32_t mixed(uint32_t x) {
  x = (x ^ x >> 16) * 0x85ebca6b;
  x = (x ^ x >> 13) * 0xc2b2ae35;
  return x ^ x >> 16;
}

// -log2 of a random number in (0, 1], piecewise linear between powers of two,
// with a random sign.
float noise(uint32_t random) {
  const float even = static_cast<float>((random >> 8) + 1) * 0x1p-24f;
  const float magnitude =
      127 - static_cast<float>(std::bit_cast<uint32_t>(even)) * 0x1p-23f;
  return (random & 1) != 0 ? magnitude : -magnitude;
}

}  // namespace

GradientStream::GradientStream(int rank)
    : seed_(mixed(static_cast<uint32_t>(rank) + 1)), sizes_(kPeriod) {
  std::mt19937 source(7);
  std::lognormal_distribution<float> size;
  for (float& one : sizes_) one = size(source);
}

void GradientStream::fill(uint32_t step, std::span<float> gradient) const {
  const uint32_t seed = mixed(seed_ ^ step);
  const float swell =
      1 + kSwell * std::sin(static_cast<float>(step) / kSwellSteps);
  for (size_t i = 0; i < gradient.size(); ++i) {
    const auto random = mixed(static_cast<uint32_t>(i) * kGolden + seed);
    gradient[i] = swell * sizes_[i % kPeriod] * noise(random);
  }
}

}  // namespace penstock::exchange
