// What a sparse exchange computes on a GPU: what exchange/select and a residual
// do on a CPU, but that entries are in no order. Everything is begun on the
// stream, nothing waits and nothing is allocated; cudaGetLastError() says what
// went wrong. Pointers are to memory of the GPU. Thread-safe as CUDA is.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "exchange/device/device_residual.h"

namespace penstock::exchange {

// Room for entries that are picked out.
struct DeviceRoom {
  uint32_t* indices = nullptr;
  float* values = nullptr;
  uint32_t entries = 0;  // most that are taken
};

// Of select(); zeros before.
struct DeviceFound {
  // What reached the threshold. Taken of it: that many, or all there is room
  // for.
  uint32_t candidates = 0;
  uint32_t is_not_finite = 0;
};

// Of find_kth(); zeros before, but for the last one's outcome.
struct DeviceKth {
  static constexpr int kBins = 2048;
  uint32_t prefix = 0;  // in the end, the magnitude's bits
  uint32_t left = 0;
  uint32_t counts[kBins] = {};
};

// sums += gradient.
void add_gradient(const float* gradient, const DeviceResidual& sums,
                  cudaStream_t stream);

// accumulate_and_select() of select_pass.h, without a gradient, of the elements
// from `first` on. REQUIRES: threshold > 0; fewer than 2^32 elements.
void select(const DeviceResidual& residual, size_t first, size_t size,
            float threshold, const DeviceRoom& room, DeviceFound* found,
            cudaStream_t stream);

// kth_magnitude() of kth_magnitude.h: kth->prefix is its bits.
// REQUIRES: 1 <= k <= elements < 2^32
void find_kth(const DeviceResidual& residual, uint32_t k, DeviceKth* kth,
              cudaStream_t stream);

// target[indices[i]] += factor x values[i]. REQUIRES: no index twice.
void add_entries(const uint32_t* indices, const float* values, size_t entries,
                 float factor, const DeviceResidual& target,
                 cudaStream_t stream);

// target[i] += factor x values[i]; values: of the GPU's memory, or pinned.
void add_values(const float* values, size_t count, float factor, float* target,
                cudaStream_t stream);

// Of the elements from `first` on.
void widen(const DeviceResidual& residual, size_t first, size_t count,
           float* values, cudaStream_t stream);
void assign(const float* values, size_t count, const DeviceResidual& residual,
            size_t first, cudaStream_t stream);

}  // namespace penstock::exchange
