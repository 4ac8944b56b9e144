#include "tests/unit/exchange/emulated_cuda/runtime.h"

#include <sys/mman.h>

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

namespace penstock::emulated_cuda {

struct Stream {
  std::deque<std::function<void()>> work;
};

struct Event {
  Stream* stream = nullptr;
  uint64_t number = 0;  // of the event's last record
  // Number that the stream has reached; it may outlive the event.
  std::shared_ptr<uint64_t> reached = std::make_shared<uint64_t>(0);
};

namespace {

constexpr int kGpus = 2;
constexpr size_t kPage = 4096, kAlignment = 64;

// Serialises all work.
std::recursive_mutex g_mutex;
Stream g_default_stream;
std::set<Stream*> g_streams = {&g_default_stream};
struct Mapping {
  char* first = nullptr;
  size_t mapped = 0, bytes = 0;
};
std::map<char*, Mapping> g_memory;  // the "GPU's"
std::map<void*, size_t> g_pinned;
std::set<int> g_made_current;
size_t g_allocated = 0, g_most = SIZE_MAX;
uint64_t g_left = UINT64_MAX;  // operations that may still be started
thread_local int t_current = 0;
thread_local cudaError_t t_last_error = cudaSuccess;

using Lock = std::lock_guard<std::recursive_mutex>;

Stream& of(cudaStream_t stream) {
  return stream != nullptr ? *stream : g_default_stream;
}

cudaError_t failed(cudaError_t error) { return t_last_error = error; }

void set_access(int access) {
  for (const auto& [memory, mapping] : g_memory) {
    mprotect(mapping.first, mapping.mapped, access);
  }
}

// Makes the memory accessible while work runs.
void do_first(Stream& stream) {
  const auto work = std::move(stream.work.front());
  stream.work.pop_front();
  set_access(PROT_READ | PROT_WRITE);
  work();
  set_access(PROT_NONE);
}

}  // namespace

cudaError_t enqueue(cudaStream_t stream, std::function<void()> work) {
  const Lock lock(g_mutex);
  if (g_left == 0) return failed(cudaErrorLaunchFailure);
  --g_left;
  of(stream).work.push_back(std::move(work));
  return cudaSuccess;
}

void fail_after(uint64_t begun) {
  const Lock lock(g_mutex);
  g_left = begun;
}

void fail_never() {
  const Lock lock(g_mutex);
  g_left = UINT64_MAX;
}

std::set<int> made_current() {
  const Lock lock(g_mutex);
  return std::exchange(g_made_current, {});
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
  *number = t_current;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int number) {
  if (number < 0 || number >= kGpus) return failed(cudaErrorInvalidDevice);
  const Lock lock(g_mutex);
  g_made_current.insert(number);
  t_current = number;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  return std::exchange(t_last_error, cudaSuccess);
}

const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaSuccess                 ? "no error"
         : error == cudaErrorMemoryAllocation ? "out of memory"
         : error == cudaErrorInvalidDevice    ? "invalid device ordinal"
                                              : "launch failure";
}

// The block ends at an inaccessible page and is filled with garbage.
cudaError_t cudaMalloc(void** memory, size_t bytes) {
  const Lock lock(g_mutex);
  if (g_allocated + bytes > g_most) return failed(cudaErrorMemoryAllocation);
  const size_t mapped = (bytes + kPage - 1) / kPage * kPage;
  auto* const first =
      static_cast<char*>(mmap(nullptr, mapped + kPage, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (first == MAP_FAILED) return failed(cudaErrorMemoryAllocation);
  std::memset(first, 0x7f, mapped);
  mprotect(first, mapped + kPage, PROT_NONE);
  char* const begin = first + (mapped - bytes) / kAlignment * kAlignment;
  *memory = begin;
  g_memory[begin] = {first, mapped, bytes};
  g_allocated += bytes;
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  const Lock lock(g_mutex);
  cudaDeviceSynchronize();
  const auto found = g_memory.find(static_cast<char*>(memory));
  if (found == g_memory.end()) return failed(cudaErrorLaunchFailure);
  g_allocated -= found->second.bytes;
  munmap(found->second.first, found->second.mapped + kPage);
  g_memory.erase(found);
  return cudaSuccess;
}

// Unmapped when freed, so that a later access fails.
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  const Lock lock(g_mutex);
  *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (*memory == MAP_FAILED) return failed(cudaErrorMemoryAllocation);
  g_pinned[*memory] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* memory) {
  const Lock lock(g_mutex);
  munmap(memory, g_pinned.at(memory));
  g_pinned.erase(memory);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* memory, int byte, size_t bytes,
                            cudaStream_t stream) {
  return enqueue(stream, [=] { std::memset(memory, byte, bytes); });
}

cudaError_t cudaMemset(void* memory, int byte, size_t bytes) {
  return cudaMemsetAsync(memory, byte, bytes, nullptr);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes,
                            cudaMemcpyKind, cudaStream_t stream) {
  return enqueue(stream, [=] { std::memcpy(to, from, bytes); });
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
  of(stream).work.emplace_back(
      [number, reached = event->reached] { *reached = number; });
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const Lock lock(g_mutex);
  while (*event->reached < event->number) do_first(*event->stream);
  return cudaSuccess;
}
