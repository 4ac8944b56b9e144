// As much of CUDA's runtime as exchange/cuda uses, on the CPU, so that its code
// is tested where there is no GPU. It is nobody's accelerator: it says nothing
// of speed, and nothing of what CUDA itself does.
//
// Work of a stream runs as late as possible: when a call waits for it. Code
// that reads a result without waiting finds the old one. Memory of the "GPU" is
// accessible only while work runs.
#pragma once

#include <cstddef>
#include <cstdint>

enum cudaError_t {
  cudaSuccess,
  cudaErrorMemoryAllocation,
  cudaErrorInvalidDevice,
  cudaErrorLaunchFailure
};
enum cudaMemcpyKind { cudaMemcpyDefault };

namespace penstock::emulated_cuda {
struct Stream;
struct Event;
}  // namespace penstock::emulated_cuda
using cudaStream_t = penstock::emulated_cuda::Stream*;
using cudaEvent_t = penstock::emulated_cuda::Event*;

constexpr unsigned cudaStreamNonBlocking = 1;
constexpr unsigned cudaEventDisableTiming = 2, cudaEventBlockingSync = 1;
constexpr unsigned cudaHostAllocPortable = 1;

cudaError_t cudaGetDevice(int* number);
cudaError_t cudaSetDevice(int number);
cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaMalloc(void** memory, size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaMemset(void* memory, int byte, size_t bytes);
cudaError_t cudaMemsetAsync(void* memory, int byte, size_t bytes,
                            cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes,
                            cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
