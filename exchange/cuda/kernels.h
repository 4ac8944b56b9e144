// Kernels of a sparse exchange: the work of exchange/select and Residual on a
// GPU, with entries in no particular order.
//
// All work is queued on the stream; nothing waits or allocates. Errors are left
// in cudaGetLastError(). Pointers are to device memory. Thread-safe as CUDA is.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "exchange/device/device_residual.h"

namespace penstock::exchange {

// Output buffer for selected entries.
struct DeviceRoom {
  uint32_t* indices = nullptr;
  float* values = nullptr;
  uint32_t entries = 0;  // room for entries
};

// Output of select(); must be zeroed before.
struct DeviceFound {
  // Entries that reached the threshold. As many of them are taken as fit into
  // the room.
  uint32_t candidates = 0;
  uint32_t is_not_finite = 0;
};

// Working memory of find_kth(). Must be zeroed before the first use only.
struct DeviceKth {
  static constexpr int kBins = 2048;
  uint32_t prefix = 0;  // at the end, the magnitude's bits
  uint32_t left = 0;
  uint32_t counts[kBins] = {};
};

// sums += gradient.
void add_gradient(const float* gradient, const DeviceResidual& sums,
                  cudaStream_t stream);

// accumulate_and_select() of select_pass.h without a gradient, for `size`
// elements from `first` on.
// REQUIRES: threshold > 0; fewer than 2^32 elements.
void select(const DeviceResidual& residual, size_t first, size_t size,
            float threshold, const DeviceRoom& room, DeviceFound* found,
            cudaStream_t stream);

// kth_magnitude() of kth_magnitude.h; kth->prefix becomes its bits.
// REQUIRES: 1 <= k <= elements < 2^32
void find_kth(const DeviceResidual& residual, uint32_t k, DeviceKth* kth,
              cudaStream_t stream);

// target[indices[i]] += factor x values[i]. REQUIRES: no index occurs twice.
void add_entries(const uint32_t* indices, const float* values, size_t entries,
                 float factor, const DeviceResidual& target,
                 cudaStream_t stream);

// target[i] += factor x values[i]. values: in device or pinned memory.
void add_values(const float* values, size_t count, float factor, float* target,
                cudaStream_t stream);

// Copy `count` elements from `first` on to or from `values`, as floats.
void widen(const DeviceResidual& residual, size_t first, size_t count,
           float* values, cudaStream_t stream);
void assign(const float* values, size_t count, const DeviceResidual& residual,
            size_t first, cudaStream_t stream);

}  // namespace penstock::exchange
