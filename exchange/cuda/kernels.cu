#include <cub/block/block_scan.cuh>

#include "exchange/cuda/kernels.h"
#include "exchange/cuda/launch.cuh"
#include "exchange/sparse/bfloat16.h"

namespace penstock::exchange {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarp = 32;
constexpr unsigned kAll = 0xffffffffu;
// Limits the blocks, which then loop over several tiles: each adds to the same
// counters at its end.
constexpr size_t kMostBlocks = 1024;

unsigned blocks_of(size_t elements) {
  const size_t blocks = (elements + kThreads - 1) / kThreads;
  return unsigned(blocks < 1 ? 1 : blocks > kMostBlocks ? kMostBlocks : blocks);
}

__device__ uint32_t magnitude_bits(float value) {
  return __float_as_uint(value) & 0x7fffffffu;
}
__device__ size_t first_of_thread() {
  return size_t(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ size_t stride() { return size_t(gridDim.x) * blockDim.x; }

// Access to the elements of a residual or a target.
struct Wide {
  float* values;
  __device__ float get(size_t i) const { return values[i]; }
  __device__ void set(size_t i, float value) const { values[i] = value; }
};
struct Narrow {
  uint16_t* values;
  uint32_t salt;
  __device__ float get(size_t i) const {
    return __uint_as_float(widened_bits(values[i]));
  }
  __device__ void set(size_t i, float value) const {
    values[i] =
        rounded_bits(__float_as_uint(value), rounding_noise(uint32_t(i), salt));
  }
};

// Calls work() with a Wide or a Narrow.
template <class Work>
void with_elements(const DeviceResidual& residual, const Work& work) {
  if (residual.narrow != nullptr) {
    work(Narrow{residual.narrow, rounding_salt(residual.step)});
  } else {
    work(Wide{residual.wide});
  }
}

template <class Elements>
__global__ void add_gradient_to(Elements sums, const float* gradient,
                                size_t elements) {
  for (size_t i = first_of_thread(); i < elements; i += stride()) {
    sums.set(i, sums.get(i) + gradient[i]);
  }
}

// One atomic operation per warp: its lanes vote on candidates, lane 0 reserves
// slots for all of them, and each lane counts the candidates before its own.
template <class Elements>
__global__ void select_from(Elements residual, size_t first, size_t size,
                            float threshold, DeviceRoom room,
                            DeviceFound* found) {
  constexpr uint32_t kInfinity = 0x7f800000;
  const unsigned lane = threadIdx.x % kWarp;
  bool is_not_finite = false;
  // All lanes run all rounds: the votes need the whole warp.
  const size_t rounds = (size + stride() - 1) / stride();
  for (size_t round = 0; round < rounds; ++round) {
    const size_t at = round * stride() + first_of_thread();
    const bool is_in = at < size;
    const float value = is_in ? residual.get(first + at) : 0.0f;
    is_not_finite |= magnitude_bits(value) >= kInfinity;
    const bool is_candidate = is_in && !(fabsf(value) < threshold);
    const unsigned votes = __ballot_sync(kAll, is_candidate);
    uint32_t slot = 0;
    if (lane == 0 && votes != 0) {
      slot = atomicAdd(&found->candidates, uint32_t(__popc(votes)));
    }
    slot = __shfl_sync(kAll, slot, 0) + __popc(votes & ((1u << lane) - 1));
    if (is_candidate && slot < room.entries) {
      room.indices[slot] = uint32_t(first + at);
      room.values[slot] = value;
      residual.set(first + at, 0);
    }
  }
  if (is_not_finite) found->is_not_finite = 1;
}

// Counts the digit at `shift` of the values whose higher bits are the prefix.
template <class Elements>
__global__ void count(Elements values, size_t elements, int shift, int bits,
                      DeviceKth* kth) {
  __shared__ uint32_t counts[DeviceKth::kBins];
  for (unsigned bin = threadIdx.x; bin < DeviceKth::kBins; bin += blockDim.x) {
    counts[bin] = 0;
  }
  __syncthreads();
  const uint32_t prefix = kth->prefix, mask = (1u << bits) - 1;
  for (size_t i = first_of_thread(); i < elements; i += stride()) {
    const uint32_t digits = magnitude_bits(values.get(i)) >> shift;
    if (digits >> bits == prefix) atomicAdd(&counts[digits & mask], 1u);
  }
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < DeviceKth::kBins; bin += blockDim.x) {
    if (counts[bin] != 0) atomicAdd(&kth->counts[bin], counts[bin]);
  }
}

// Finds the bin of the k-th value, from the top. One block; clears the counts.
constexpr int kPickThreads = DeviceKth::kBins / 2;
__global__ void __launch_bounds__(kPickThreads) pick(int bits, DeviceKth* kth) {
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

template <class Elements>
__global__ void add_entries_to(Elements target, const uint32_t* indices,
                               const float* values, size_t entries,
                               float factor) {
  for (size_t i = first_of_thread(); i < entries; i += stride()) {
    target.set(indices[i], target.get(indices[i]) + factor * values[i]);
  }
}

__global__ void add_values_to(float* target, const float* values, size_t count,
                              float factor) {
  for (size_t i = first_of_thread(); i < count; i += stride()) {
    target[i] += factor * values[i];
  }
}

template <class Elements>
__global__ void widen_from(Elements residual, size_t first, size_t count,
                           float* values) {
  for (size_t i = first_of_thread(); i < count; i += stride()) {
    values[i] = residual.get(first + i);
  }
}

template <class Elements>
__global__ void assign_to(Elements residual, size_t first, size_t count,
                          const float* values) {
  for (size_t i = first_of_thread(); i < count; i += stride()) {
    residual.set(first + i, values[i]);
  }
}

}  // namespace

void add_gradient(const float* gradient, const DeviceResidual& sums,
                  cudaStream_t stream) {
  with_elements(sums, [&](auto elements) {
    launch(add_gradient_to<decltype(elements)>, blocks_of(sums.elements),
           kThreads, stream, elements, gradient, sums.elements);
  });
}

void select(const DeviceResidual& residual, size_t first, size_t size,
            float threshold, const DeviceRoom& room, DeviceFound* found,
            cudaStream_t stream) {
  with_elements(residual, [&](auto elements) {
    launch(select_from<decltype(elements)>, blocks_of(size), kThreads, stream,
           elements, first, size, threshold, room, found);
  });
}

void find_kth(const DeviceResidual& residual, uint32_t k, DeviceKth* kth,
              cudaStream_t stream) {
  // The digits of Float32 in kth_magnitude.cpp; bfloat16 is widened first.
  constexpr int kBits = 31;
  constexpr int kDigitBits[] = {11, 10, 10};
  launch(begin_kth, 1, 1, stream, k, kth);
  int shift = kBits;
  for (const int bits : kDigitBits) {
    shift -= bits;
    with_elements(residual, [&](auto elements) {
      launch(count<decltype(elements)>, blocks_of(residual.elements), kThreads,
             stream, elements, residual.elements, shift, bits, kth);
    });
    launch(pick, 1, kPickThreads, stream, bits, kth);
  }
}

void add_entries(const uint32_t* indices, const float* values, size_t entries,
                 float factor, const DeviceResidual& target,
                 cudaStream_t stream) {
  with_elements(target, [&](auto elements) {
    launch(add_entries_to<decltype(elements)>, blocks_of(entries), kThreads,
           stream, elements, indices, values, entries, factor);
  });
}

void add_values(const float* values, size_t count, float factor, float* target,
                cudaStream_t stream) {
  launch(add_values_to, blocks_of(count), kThreads, stream, target, values,
         count, factor);
}

void widen(const DeviceResidual& residual, size_t first, size_t count,
           float* values, cudaStream_t stream) {
  with_elements(residual, [&](auto elements) {
    launch(widen_from<decltype(elements)>, blocks_of(count), kThreads, stream,
           elements, first, count, values);
  });
}

void assign(const float* values, size_t count, const DeviceResidual& residual,
            size_t first, cudaStream_t stream) {
  with_elements(residual, [&](auto elements) {
    launch(assign_to<decltype(elements)>, blocks_of(count), kThreads, stream,
           elements, first, count, values);
  });
}

}  // namespace penstock::exchange
