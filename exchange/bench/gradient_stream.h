// Gradients for benchmarks. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace penstock::exchange {

// Noise that is new in each step and on each rank: exponential magnitudes of
// either sign. How large it is differs from element to element, lognormally,
// and for an element is the same on all ranks; all of it swells and shrinks by
// a fifth over some 200 steps.
class GradientStream {
 public:
  explicit GradientStream(int rank);

  // The gradient of a layer, from its first element on.
  void fill(uint32_t step, std::span<float> gradient) const;

  // Elements so far apart have the same size.
  static constexpr size_t kPeriod = 256;

 private:
  uint32_t seed_;
  std::vector<float> sizes_;
};

}  // namespace penstock::exchange
