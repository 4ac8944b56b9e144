#include "tests/unit/exchange/emulated_cuda/runtime.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace penstock::emulated_cuda {

struct Stream {
  std::deque<std::function<void()>> work;
};

struct Event {
  Stream* stream = nullptr;
  uint64_t number = 0;  // of the last record of it
  uint64_t reached = 0;
};

namespace {

// One thing at a time is done, whoever waits for it.
std::recursive_mutex g_mutex;
Stream g_default_stream;
std::set<Stream*> g_streams = {&g_default_stream};
std::map<char*, size_t> g_memory;  // the "GPU's"
size_t g_allocated = 0, g_most = SIZE_MAX;
bool g_fails = false;
cudaError_t g_last_error = cudaSuccess;
thread_local int g_current = 0;

using Lock = std::lock_guard<std::recursive_mutex>;

Stream& of(cudaStream_t stream) {
  return stream != nullptr ? *stream : g_default_stream;
}

void set_access(int access) {
  for (const auto& [memory, bytes] : g_memory) {
    mprotect(memory, bytes, access);
  }
}

// At work the memory can be touched.
void do_first(Stream& stream) {
  const auto work = std::move(stream.work.front());
  stream.work.pop_front();
  set_access(PROT_READ | PROT_WRITE);
  work();
  set_access(PROT_NONE);
}

}  // namespace

void enqueue(cudaStream_t stream, std::function<void()> work) {
  const Lock lock(g_mutex);
  if (g_fails) {
    g_last_error = cudaErrorLaunchFailure;
    return;
  }
  of(stream).work.push_back(std::move(work));
}

void fail_kernels(bool fail) {
  const Lock lock(g_mutex);
  g_fails = fail;
  if (!fail) g_last_error = cudaSuccess;
}

size_t allocated_bytes() {
  const Lock lock(g_mutex);
  return g_allocated;
}

void limit_memory(size_t bytes) {
  const Lock lock(g_mutex);
  g_most = bytes;
}

}  // namespace penstock::emulated_cuda

using namespace penstock::emulated_cuda;

cudaError_t cudaGetDevice(int* number) {
  *number = g_current;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int number) {
  if (number != 0) return cudaErrorInvalidDevice;
  g_current = number;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  const Lock lock(g_mutex);
  return std::exchange(g_last_error, cudaSuccess);
}

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess                 ? "no error"
         : error == cudaErrorMemoryAllocation ? "out of memory"
         : error == cudaErrorInvalidDevice    ? "invalid device ordinal"
                                              : "launch failure";
}

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  const Lock lock(g_mutex);
  if (g_allocated + bytes > g_most) return cudaErrorMemoryAllocation;
  *memory = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (*memory == MAP_FAILED) return cudaErrorMemoryAllocation;
  g_memory[static_cast<char*>(*memory)] = bytes;
  g_allocated += bytes;
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  const Lock lock(g_mutex);
  cudaDeviceSynchronize();
  const auto found = g_memory.find(static_cast<char*>(memory));
  if (found == g_memory.end()) return cudaErrorLaunchFailure;
  g_allocated -= found->second;
  munmap(memory, found->second);
  g_memory.erase(found);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  *memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  return *memory != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* memory, int byte, size_t bytes,
                            cudaStream_t stream) {
  enqueue(stream, [=] { std::memset(memory, byte, bytes); });
  return cudaSuccess;
}

cudaError_t cudaMemset(void* memory, int byte, size_t bytes) {
  return cudaMemsetAsync(memory, byte, bytes, nullptr);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes,
                            cudaMemcpyKind, cudaStream_t stream) {
  enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const Lock lock(g_mutex);
  *stream = new Stream;
  g_streams.insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const Lock lock(g_mutex);
  cudaStreamSynchronize(stream);
  g_streams.erase(stream);
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const Lock lock(g_mutex);
  while (!of(stream).work.empty()) do_first(of(stream));
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  const Lock lock(g_mutex);
  for (Stream* stream : g_streams) cudaStreamSynchronize(stream);
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new Event;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const Lock lock(g_mutex);
  event->stream = &of(stream);
  const uint64_t number = ++event->number;
  of(stream).work.emplace_back([=] { event->reached = number; });
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Lock lock(g_mutex);
  while (event->reached < event->number) do_first(*event->stream);
  return cudaSuccess;
}
