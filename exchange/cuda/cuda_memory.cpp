#include "exchange/cuda/cuda_memory.h"

#include <cstring>

namespace penstock::exchange {

Result<std::byte*> CudaMemory::allocate(size_t bytes) {
  const CudaCurrent current(number_);
  void* memory = nullptr;
  cudaError_t error = current.error();
  if (error == cudaSuccess && kind_ == Kind::kDevice) {
    error = cudaMalloc(&memory, bytes);
    if (error == cudaSuccess) error = cudaMemset(memory, 0, bytes);
    // cudaMemset() is queued on the default stream, for which non-blocking
    // streams do not wait.
    if (error == cudaSuccess) error = cudaStreamSynchronize(nullptr);
  } else if (error == cudaSuccess) {
    error = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
    if (error == cudaSuccess) std::memset(memory, 0, bytes);
  }
  if (error == cudaSuccess) return static_cast<std::byte*>(memory);
  if (memory != nullptr) free(static_cast<std::byte*>(memory));
  return Error{Code::kLimit, 0,
               "no " + std::to_string(bytes) + " bytes of " +
                   (kind_ == Kind::kDevice ? "the GPU's memory"
                                           : "pinned memory of the host") +
                   ": " + cudaGetErrorString(error) +
                   "; a lower density, residuals in bfloat16 or on the host, "
                   "or a smaller batch leave more"};
}

void CudaMemory::free(std::byte* memory) {
  const CudaCurrent current(number_);
  cudaDeviceSynchronize();  // copies may be pending
  if (kind_ == Kind::kDevice) {
    cudaFree(memory);
  } else {
    cudaFreeHost(memory);
  }
}

}  // namespace penstock::exchange
