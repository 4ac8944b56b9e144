// Picks the largest of a set of values. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::exchange {

// Picks the `wanted` values of the largest magnitudes; among equal magnitudes
// at the limit, the first values. A NaN counts as larger than any number.
class Largest {
 public:
  Largest(std::span<const float> values, size_t wanted);

  // Whether this value is picked. Call it once for each value, in order; zeros
  // may be skipped.
  bool takes(float value);

 private:
  size_t left_;         // values that may still be picked
  uint32_t least_ = 0;  // bits of the smallest picked magnitude
  size_t ties_;         // values of it that may still be picked
};

}  // namespace penstock::exchange
