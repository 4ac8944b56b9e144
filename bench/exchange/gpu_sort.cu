#include <cub/device/device_radix_sort.cuh>

#include "bench/exchange/gpu_sort.h"

namespace penstock::exchange {
namespace {

__global__ void prepare(const float* values, size_t elements, float* magnitudes,
                        uint32_t* indices) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= elements) return;
  magnitudes[i] = fabsf(values[i]);
  indices[i] = uint32_t(i);
}

}  // namespace

cudaError_t gpu_sort(const float* values, size_t elements, GpuSort& sort) {
  constexpr size_t kThreads = 256;
  if (sort.room != nullptr) {
    prepare<<<unsigned((elements + kThreads - 1) / kThreads), kThreads>>>(
        values, elements, sort.magnitudes, sort.indices);
  }
  return cub::DeviceRadixSort::SortPairsDescending(
      sort.room, sort.room_bytes, sort.magnitudes, sort.sorted, sort.indices,
      sort.sorted_indices, elements);
}

}  // namespace penstock::exchange
