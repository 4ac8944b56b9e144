// What tests, and kernels on the CPU, need of it beyond CUDA's own interface.
#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "tests/unit/exchange/emulated_cuda/cuda_runtime_api.h"

namespace penstock::emulated_cuda {

// Behind what was begun on the stream; it is waited for by CUDA's functions.
cudaError_t enqueue(cudaStream_t stream, std::function<void()> work);

// Blocks of threads, one block after the other, in the caller's thread.
void run_grid(unsigned blocks, unsigned threads,
              const std::function<void()>& kernel);

// So many things more are begun; then whatever is begun fails.
void fail_after(uint64_t begun);
void fail_never();

// The numbers of "GPUs" that some thread has made its current one, since it was
// asked last: each would have taken memory for that.
std::set<int> made_current();

// Of the "GPU's" memory.
size_t allocated_bytes();
// With more than this cudaMalloc() fails.
void limit_memory(size_t bytes);

}  // namespace penstock::emulated_cuda
