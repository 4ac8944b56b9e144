// Random numbers that depend on their seed alone: equal on every machine and in
// every thread. Not for secrets. Pure.
#pragma once

#include <cstdint>

namespace penstock {

// SplitMix64's finaliser: each input bit changes about half of the output bits.
constexpr uint64_t finalise64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// SplitMix64's step.
inline constexpr uint64_t kStep64 = 0x9e3779b97f4a7c15u;
constexpr uint64_t mix64(uint64_t x) { return finalise64(x + kStep64); }

// The seed of one sample in one epoch.
constexpr uint64_t sample_seed(uint64_t seed, uint64_t epoch, uint64_t index) {
  return mix64(mix64(mix64(seed) + epoch) + index);
}

// SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    const uint64_t value = mix64(state_);
    state_ += kStep64;
    return value;
  }

  // In [0, 1), 53 random bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // In [low, high).
  double uniform(double low, double high) {
    return low + (high - low) * uniform();
  }

  // In [0, bound); the bias is below bound / 2^53. REQUIRES: bound > 0.
  uint64_t below(uint64_t bound) {
    return static_cast<uint64_t>(uniform() * static_cast<double>(bound));
  }

 private:
  uint64_t state_;
};

}  // namespace penstock
