// Values in the memory of a GPU, real or emulated.
#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <vector>

namespace penstock::exchange::test {

inline void check_cuda(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

template <class T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& values) : count_(values.size()) {
    void* memory = nullptr;
    check_cuda(cudaMalloc(&memory, count_ * sizeof(T)));
    data_ = static_cast<T*>(memory);
    set(values);
  }
  ~OnDevice() { cudaFree(data_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  T* data() const { return data_; }
  size_t size() const { return count_; }

  void set(const std::vector<T>& values) { copy(data_, values.data()); }
  std::vector<T> values() const {
    std::vector<T> values(count_);
    copy(values.data(), data_);
    return values;
  }

 private:
  void copy(void* to, const void* from) const {
    check_cuda(cudaMemcpyAsync(to, from, count_ * sizeof(T), cudaMemcpyDefault,
                               nullptr));
    check_cuda(cudaStreamSynchronize(nullptr));
  }

  T* data_ = nullptr;
  size_t count_;
};

// A caller's, on which its kernels run.
class OwnStream {
 public:
  OwnStream() {
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~OwnStream() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace penstock::exchange::test
