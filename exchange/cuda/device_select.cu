#include <algorithm>
#include <cub/block/block_scan.cuh>

#include "exchange/cuda/device_select.h"

namespace penstock::exchange {
namespace {

constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr unsigned kAll = 0xffffffffu;
// Blocks go over more than one tile each, so that few of them add to the same
// counters at the end.
constexpr size_t kMostBlocks = 1024;

int blocks_of(size_t elements) {
  const size_t blocks = (elements + kThreads - 1) / kThreads;
  return static_cast<int>(std::clamp<size_t>(blocks, 1, kMostBlocks));
}

Status last_error(const char* what) {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return Done{};
  return Error{Code::kIo, 0,
               std::string(what) + ": " + cudaGetErrorString(error)};
}

__device__ uint32_t magnitude_bits(float value) {
  return __float_as_uint(value) & 0x7fffffffu;
}

// A warp votes on who has a candidate, reserves room for all of them at once,
// and each lane counts those before it.
__global__ void select(const float* gradient, float* residual, size_t elements,
                       float threshold, uint32_t first_index, DeviceRoom room,
                       DeviceFound* found) {
  constexpr uint32_t kInfinity = 0x7f800000;
  const size_t stride = size_t(gridDim.x) * blockDim.x;
  const unsigned lane = threadIdx.x % kWarp;
  bool is_not_finite = false;
  // All lanes of a warp stay together to the end.
  const size_t rounds = (elements + stride - 1) / stride;
  for (size_t round = 0; round < rounds; ++round) {
    const size_t i =
        round * stride + size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const bool is_in = i < elements;
    float sum = is_in ? residual[i] : 0.0f;
    if (is_in && gradient != nullptr) sum += gradient[i];
    is_not_finite |= magnitude_bits(sum) >= kInfinity;
    const bool is_candidate = is_in && !(fabsf(sum) < threshold);
    const unsigned votes = __ballot_sync(kAll, is_candidate);
    uint32_t first = 0;
    if (lane == 0 && votes != 0) {
      first = atomicAdd(&found->candidates, uint32_t(__popc(votes)));
    }
    first = __shfl_sync(kAll, first, 0);
    const uint32_t slot = first + __popc(votes & ((1u << lane) - 1));
    const bool is_taken = is_candidate && slot < room.entries;
    if (is_taken) {
      room.indices[slot] = first_index + uint32_t(i);
      room.values[slot] = sum;
    }
    if (is_in) residual[i] = is_taken ? 0.0f : sum;
  }
  if (is_not_finite) found->is_not_finite = 1;
}

// Of those whose bits above `shift + bits` are the prefix.
__global__ void count(const float* values, size_t elements, int shift, int bits,
                      DeviceKth* kth) {
  __shared__ uint32_t counts[DeviceKth::kBins];
  for (unsigned bin = threadIdx.x; bin < DeviceKth::kBins; bin += blockDim.x) {
    counts[bin] = 0;
  }
  __syncthreads();
  const uint32_t prefix = kth->prefix, mask = (1u << bits) - 1;
  const size_t stride = size_t(gridDim.x) * blockDim.x;
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < elements;
       i += stride) {
    const uint32_t digits = magnitude_bits(values[i]) >> shift;
    if (digits >> bits == prefix) atomicAdd(&counts[digits & mask], 1u);
  }
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < DeviceKth::kBins; bin += blockDim.x) {
    if (counts[bin] != 0) atomicAdd(&kth->counts[bin], counts[bin]);
  }
}

// The bin, from the top, in which the k-th is. One block; clears the counts.
constexpr int kPickThreads = DeviceKth::kBins / 2;
__global__ void pick(int bits, DeviceKth* kth) {
  using Scan = cub::BlockScan<uint32_t, kPickThreads>;
  __shared__ typename Scan::TempStorage storage;
  const int top = DeviceKth::kBins - 1 - 2 * int(threadIdx.x);
  uint32_t here[2] = {kth->counts[top], kth->counts[top - 1]}, above[2];
  Scan(storage).ExclusiveSum(here, above);
  const uint32_t left = kth->left, prefix = kth->prefix;
  __syncthreads();
  kth->counts[top] = kth->counts[top - 1] = 0;
  for (int i = 0; i < 2; ++i) {
    if (above[i] < left && left <= above[i] + here[i]) {
      kth->prefix = prefix << bits | uint32_t(top - i);
      kth->left = left - above[i];
    }
  }
}

__global__ void begin_kth(uint32_t k, DeviceKth* kth) {
  kth->prefix = 0;
  kth->left = k;
}

__global__ void add(const uint32_t* indices, const float* values,
                    size_t entries, float factor, float* target) {
  const size_t stride = size_t(gridDim.x) * blockDim.x;
  for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < entries;
       i += stride) {
    target[indices[i]] += factor * values[i];
  }
}

}  // namespace

Status accumulate_and_select_on_device(const float* gradient, float* residual,
                                       size_t elements, float threshold,
                                       uint32_t first_index,
                                       const DeviceRoom& room,
                                       DeviceFound* found, void* stream) {
  select<<<blocks_of(elements), kThreads, 0,
           static_cast<cudaStream_t>(stream)>>>(
      gradient, residual, elements, threshold, first_index, room, found);
  return last_error("the selection on the GPU");
}

Status kth_magnitude_on_device(const float* values, size_t elements, uint32_t k,
                               DeviceKth* kth, void* stream) {
  // The digits of kth_magnitude.cpp.
  constexpr int kBits = 31;
  constexpr int kDigitBits[] = {11, 10, 10};
  const auto on = static_cast<cudaStream_t>(stream);
  begin_kth<<<1, 1, 0, on>>>(k, kth);
  int shift = kBits;
  for (const int bits : kDigitBits) {
    shift -= bits;
    count<<<blocks_of(elements), kThreads, 0, on>>>(values, elements, shift,
                                                    bits, kth);
    pick<<<1, kPickThreads, 0, on>>>(bits, kth);
  }
  return last_error("the threshold on the GPU");
}

Status add_scaled_on_device(const uint32_t* indices, const float* values,
                            size_t entries, float factor, float* target,
                            void* stream) {
  add<<<blocks_of(entries), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      indices, values, entries, factor, target);
  return last_error("the update on the GPU");
}

}  // namespace penstock::exchange
