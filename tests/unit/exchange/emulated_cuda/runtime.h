// Interface for tests and for kernels on the CPU, beyond CUDA's own.
#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "tests/unit/exchange/emulated_cuda/cuda_runtime_api.h"

namespace penstock::emulated_cuda {

// Queues work on the stream; CUDA's functions wait for it.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);

// Runs blocks of threads one after the other in the caller's thread.
void run_grid(unsigned blocks, unsigned threads,
              const std::function<void()>& kernel);

// This many operations may start; later ones fail.
void fail_after(uint64_t begun);
void fail_never();

// The numbers of "GPUs" made current by any thread since the last call; CUDA
// would have allocated memory on each.
std::set<int> made_current();

// Allocated bytes of the "GPU's" memory.
size_t allocated_bytes();
// cudaMalloc() fails beyond this.
void limit_memory(size_t bytes);

}  // namespace penstock::emulated_cuda
