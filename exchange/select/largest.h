// Which of some values are the largest. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::exchange {

// So many of the values as are wanted, by magnitude; of those that are as large
// as the least of them the first ones. What is no number is larger than all.
class Largest {
 public:
  Largest(std::span<const float> values, size_t wanted);

  // To be asked for each value, in their order; zeros may be left out.
  bool takes(float value);

 private:
  size_t left_;         // that may still be taken
  uint32_t least_ = 0;  // a magnitude's bits: larger ones are all taken,
  size_t ties_;         // and so many that are as large
};

}  // namespace penstock::exchange
