// Synthetic gradients for benchmarks. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::exchange {

// New noise in each step and on each rank: exponential magnitudes with random
// signs. Its scale varies log-normally between elements, equally on all ranks.
// All of it swells and shrinks by a fifth, with a period of about 190 steps.
class GradientStream {
 public:
  explicit GradientStream(int rank);

  // Fills in the layer's gradient, from its first element on.
  void fill(uint32_t step, std::span<float> gradient) const;

  // Distance of elements that have the same scale.
  static constexpr size_t kPeriod = 256;

 private:
  uint32_t seed_;
  std::vector<float> sizes_;
};

}  // namespace penstock::exchange
