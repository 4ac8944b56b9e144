// What a selection without a threshold has to do on a GPU: values by magnitude,
// the largest first, with where they are.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace penstock::exchange {

// Memory of the GPU's, of so many elements each.
struct GpuSort {
  float* magnitudes = nullptr;
  float* sorted = nullptr;
  uint32_t* indices = nullptr;
  uint32_t* sorted_indices = nullptr;
  void* room = nullptr;  // none: gpu_sort() says how much in room_bytes
  size_t room_bytes = 0;
};

// CUB's radix sort, on the default stream.
cudaError_t gpu_sort(const float* values, size_t elements, GpuSort& sort);

}  // namespace penstock::exchange
