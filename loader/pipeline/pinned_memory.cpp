#include "loader/pipeline/pinned_memory.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <optional>

namespace penstock {
namespace {

// Functions of cuda.h. Results are CUresult (0: success), contexts CUcontext.
struct Cuda {
  int (*get_context)(void** context) = nullptr;
  int (*push_context)(void* context) = nullptr;
  int (*pop_context)(void** context) = nullptr;
  int (*register_memory)(void* begin, size_t bytes, unsigned flags) = nullptr;
  int (*unregister_memory)(void* begin) = nullptr;
};

constexpr unsigned kPortable = 1;  // CU_MEMHOSTREGISTER_PORTABLE

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

// nullopt: the process has not loaded the library (yet). The reference taken
// here is never dropped, so the library stays loaded.
std::optional<Cuda> loaded_cuda() {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  Cuda cuda;
  if (library != nullptr &&
      find(library, "cuCtxGetCurrent", cuda.get_context) &&
      find(library, "cuCtxPushCurrent_v2", cuda.push_context) &&
      find(library, "cuCtxPopCurrent_v2", cuda.pop_context) &&
      find(library, "cuMemHostRegister_v2", cuda.register_memory) &&
      find(library, "cuMemHostUnregister", cuda.unregister_memory)) {
    return cuda;
  }
  return std::nullopt;
}

void* map_pages(size_t bytes) {
  void* const begin = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED) throw std::bad_alloc();
  return begin;
}

}  // namespace

PinnableMemory::PinnableMemory(size_t bytes)
    : bytes_(std::max<size_t>(bytes, 1)), begin_(map_pages(bytes_)) {}

PinnableMemory::~PinnableMemory() {
  if (!is_pinned() || unpin()) ::munmap(begin_, bytes_);
}

void PinnableMemory::try_pin() {
  if (is_pinned() || !refusal_.empty()) return;
  const auto cuda = loaded_cuda();
  void* context = nullptr;
  if (!cuda || cuda->get_context(&context) != 0 || context == nullptr) return;
  ::madvise(begin_, bytes_, MADV_DONTFORK);
  const int refused = cuda->register_memory(begin_, bytes_, kPortable);
  if (refused == 0) {
    context_ = context;
    return;
  }
  ::madvise(begin_, bytes_, MADV_DOFORK);
  refusal_ = "CUDA pins no memory: cuMemHostRegister: error " +
             std::to_string(refused);
}

// Makes the pinning context current first: the calling thread may have another
// context or none.
bool PinnableMemory::unpin() {
  const auto cuda = loaded_cuda();
  if (!cuda || cuda->push_context(context_) != 0) return false;
  const bool is_done = cuda->unregister_memory(begin_) == 0;
  void* context = nullptr;
  (void)cuda->pop_context(&context);
  return is_done;
}

}  // namespace penstock
