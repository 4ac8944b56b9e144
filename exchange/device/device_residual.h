// A residual in a device's memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::exchange {

// Its elements are of 32 bits, or in bfloat16.
struct DeviceResidual {
  float* wide = nullptr;
  uint16_t* narrow = nullptr;  // instead
  size_t elements = 0;
  uint64_t step = 0;  // what its roundings depend on
};

}  // namespace penstock::exchange
