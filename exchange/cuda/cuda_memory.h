// Memory of a GPU, and pinned host memory for copies from and to it.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "exchange/memory/arena.h"

namespace penstock::exchange {

inline Error cuda_error(cudaError_t error, const std::string& what) {
  return Error{Code::kIo, 0,
               "the GPU: " + what + ": " + cudaGetErrorString(error)};
}

// Makes a GPU current in this thread, and restores the previous one at the end.
// Restoring a GPU that the process has not used allocates memory there, so
// callers should have this one current already.
class CudaCurrent {
 public:
  explicit CudaCurrent(int number) : number_(number) {
    error_ = cudaGetDevice(&before_);
    if (error_ == cudaSuccess && before_ != number) {
      error_ = cudaSetDevice(number);
    }
  }
  ~CudaCurrent() {
    if (before_ != number_) cudaSetDevice(before_);
    (void)cudaGetLastError();  // keeps errors from later checks
  }
  CudaCurrent(const CudaCurrent&) = delete;
  CudaCurrent& operator=(const CudaCurrent&) = delete;
  cudaError_t error() const { return error_; }

 private:
  const int number_;
  int before_ = 0;
  cudaError_t error_;
};

// Thread-safe.
class CudaMemory : public MemorySource {
 public:
  enum class Kind { kDevice, kPinned };
  CudaMemory(int number, Kind kind) : number_(number), kind_(kind) {}
  Result<std::byte*> allocate(size_t bytes) override;
  void free(std::byte* memory) override;

 private:
  const int number_;
  const Kind kind_;
};

}  // namespace penstock::exchange
