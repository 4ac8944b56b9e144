// The part of cub::BlockScan that Penstock uses, computed thread by thread.
#pragma once

#include "tests/unit/exchange/emulated_cuda/kernel.h"

namespace cub {

template <class T, int Threads>
class BlockScan {
 public:
  struct TempStorage {
    T sums[Threads];
  };
  explicit BlockScan(TempStorage& storage) : storage_(storage) {}

  void ExclusiveSum(const T (&in)[2], T (&out)[2]) {
    storage_.sums[threadIdx.x] = in[0] + in[1];
    __syncthreads();
    out[0] = 0;
    for (unsigned i = 0; i < threadIdx.x; ++i) out[0] += storage_.sums[i];
    out[1] = out[0] + in[0];
    __syncthreads();
  }

 private:
  TempStorage& storage_;
};

}  // namespace cub
