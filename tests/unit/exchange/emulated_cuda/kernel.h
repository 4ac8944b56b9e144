// The part of the kernel language that exchange/cuda uses. Blocks run one after
// the other, so that shared memory can be static.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#define __global__
#define __device__
#define __shared__ static
#define __launch_bounds__(threads)

namespace penstock::emulated_cuda {

struct Place {
  unsigned x = 0;
};

void wait_for_block();
uint32_t vote(bool is_yes);
uint64_t value_of_lane(uint64_t value, unsigned lane);

}  // namespace penstock::emulated_cuda

inline penstock::emulated_cuda::Place threadIdx, blockIdx, blockDim, gridDim;

inline void __syncthreads() { penstock::emulated_cuda::wait_for_block(); }
inline unsigned __ballot_sync(unsigned, bool is_yes) {
  return penstock::emulated_cuda::vote(is_yes);
}
inline uint32_t __shfl_sync(unsigned, uint32_t value, unsigned lane) {
  return uint32_t(penstock::emulated_cuda::value_of_lane(value, lane));
}
inline int __popc(unsigned bits) { return std::popcount(bits); }
inline uint32_t atomicAdd(uint32_t* target, uint32_t value) {
  const uint32_t before = *target;
  *target += value;
  return before;
}
inline uint32_t __float_as_uint(float value) {
  return std::bit_cast<uint32_t>(value);
}
inline float __uint_as_float(uint32_t bits) {
  return std::bit_cast<float>(bits);
}
