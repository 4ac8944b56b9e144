// Baseline for a GPU's selection without a threshold: sorts values by
// magnitude, largest first, with their indices.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace penstock::exchange {

// Device memory; each array has `elements` elements.
struct GpuSort {
  float* magnitudes = nullptr;
  float* sorted = nullptr;
  uint32_t* indices = nullptr;
  uint32_t* sorted_indices = nullptr;
  void* room = nullptr;  // null: gpu_sort() only sets room_bytes
  size_t room_bytes = 0;
};

// CUB's radix sort, on the default stream.
cudaError_t gpu_sort(const float* values, size_t elements, GpuSort& sort);

}  // namespace penstock::exchange
