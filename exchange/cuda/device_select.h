// The selection of a sparse exchange on a GPU: what exchange/select does on a
// CPU, but that entries are in no order. No CUDA header is needed to include
// it; a stream is a cudaStream_t. Everything is begun on the stream, nothing
// waits and nothing is allocated. Thread-safe as CUDA is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/result.h"

namespace penstock::exchange {

// Memory that the GPU reaches: its own, or pinned.
struct DeviceRoom {
  uint32_t* indices = nullptr;
  float* values = nullptr;
  uint32_t entries = 0;  // most that are taken
};

// In such memory too; zeros before.
struct DeviceFound {
  // What reached the threshold. Taken of it: that many, or all there is room
  // for.
  uint32_t candidates = 0;
  uint32_t is_not_finite = 0;
};

// Of kth_magnitude_on_device(), in the GPU's memory; zeros before.
struct DeviceKth {
  static constexpr int kBins = 2048;
  uint32_t prefix = 0;  // in the end, the magnitude's bits
  uint32_t left = 0;
  uint32_t counts[kBins] = {};
};

// accumulate_and_select() of select_pass.h. gradient: or nullptr, adds nothing.
// REQUIRES: threshold > 0; first_index + elements <= 2^32.
// Errors, of each of the following: kIo  CUDA's, with its text
[[nodiscard]] Status accumulate_and_select_on_device(
    const float* gradient, float* residual, size_t elements, float threshold,
    uint32_t first_index, const DeviceRoom& room, DeviceFound* found,
    void* stream);

// kth_magnitude() of kth_magnitude.h: kth->prefix is its bits.
// REQUIRES: 1 <= k <= elements < 2^32
[[nodiscard]] Status kth_magnitude_on_device(const float* values,
                                             size_t elements, uint32_t k,
                                             DeviceKth* kth, void* stream);

// target[indices[i]] += factor x values[i]. REQUIRES: no index twice.
[[nodiscard]] Status add_scaled_on_device(const uint32_t* indices,
                                          const float* values, size_t entries,
                                          float factor, float* target,
                                          void* stream);

}  // namespace penstock::exchange
