// A residual in a device's memory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::exchange {

// Its elements are float32 or bfloat16; the other pointer is null.
struct DeviceResidual {
  float* wide = nullptr;
  uint16_t* narrow = nullptr;  // bfloat16, by their bits
  size_t elements = 0;
  uint64_t step = 0;  // seeds random roundings
};

}  // namespace penstock::exchange
