// A stand-in for a GPU's memory, preloaded into a process. Blocks of
// posix_memalign(), which PyTorch uses for CPU tensors, come from one arena.
// They are counted, and fail beyond a limit. Blocks under 4096 bytes are the C
// library's.
//
// The arena keeps its pages. Like a GPU's caching allocator it costs no page
// faults once it is warm.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { kUnit = 64, kSmallest = 4096 };
static const size_t kAddresses = (size_t)1 << 36;

// Precedes each block in use; fits into kUnit bytes.
struct Header {
  uintptr_t begin;  // start of the memory taken, before alignment
  size_t taken;
  size_t asked;
};

struct Free {
  size_t size;
  struct Free* next;  // next free block, at a higher address
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t arena;
static struct Free* first;
static size_t limit = SIZE_MAX;
static size_t current;
static size_t peak;

static void* libc_function(const char* name) { return dlsym(RTLD_NEXT, name); }

static int map_arena(void) {
  void* mapped = mmap(NULL, kAddresses, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return -1;
  arena = (uintptr_t)mapped;
  first = mapped;
  first->size = kAddresses;
  first->next = NULL;
  return 0;
}

// First fit: the lowest free block that is large enough.
static uintptr_t take(size_t size) {
  for (struct Free** link = &first; *link; link = &(*link)->next) {
    struct Free* found = *link;
    if (found->size < size) continue;
    if (found->size == size) {
      *link = found->next;
    } else {
      struct Free* rest = (struct Free*)((uintptr_t)found + size);
      rest->size = found->size - size;
      rest->next = found->next;
      *link = rest;
    }
    return (uintptr_t)found;
  }
  return 0;
}

static void join(struct Free* low) {
  if (!low->next || (uintptr_t)low + low->size != (uintptr_t)low->next) return;
  low->size += low->next->size;
  low->next = low->next->next;
}

static void put_back(uintptr_t begin, size_t size) {
  struct Free* before = NULL;
  struct Free* after = first;
  while (after && (uintptr_t)after < begin) {
    before = after;
    after = after->next;
  }
  struct Free* freed = (struct Free*)begin;
  freed->size = size;
  freed->next = after;
  join(freed);
  if (before) {
    before->next = freed;
    join(before);
  } else {
    first = freed;
  }
}

static void* allocate(size_t alignment, size_t size) {
  if (size > limit - (current < limit ? current : limit)) return NULL;
  if (!arena && map_arena() != 0) return NULL;
  if (alignment < kUnit) alignment = kUnit;
  const size_t taken =
      (size + alignment + 2 * kUnit - 1) & ~(size_t)(kUnit - 1);
  const uintptr_t begin = take(taken);
  if (!begin) return NULL;
  const uintptr_t block =
      (begin + kUnit + alignment - 1) & ~(uintptr_t)(alignment - 1);
  *(struct Header*)(block - kUnit) = (struct Header){begin, taken, size};
  current += size;
  if (current > peak) peak = current;
  return (void*)block;
}

int posix_memalign(void** block, size_t alignment, size_t size) {
  if (size < kSmallest || size > kAddresses / 2) {
    int (*real)(void**, size_t, size_t) =
        (int (*)(void**, size_t, size_t))libc_function("posix_memalign");
    return size < kSmallest ? real(block, alignment, size) : ENOMEM;
  }
  pthread_mutex_lock(&mutex);
  void* found = allocate(alignment, size);
  pthread_mutex_unlock(&mutex);
  if (!found) return ENOMEM;
  *block = found;
  return 0;
}

void free(void* block) {
  static void (*real)(void*);
  const uintptr_t address = (uintptr_t)block;
  if (address < arena || address - arena >= kAddresses || !arena) {
    if (!real) real = (void (*)(void*))libc_function("free");
    real(block);
    return;
  }
  const struct Header header = *(struct Header*)(address - kUnit);
  pthread_mutex_lock(&mutex);
  current -= header.asked;
  put_back(header.begin, header.taken);
  pthread_mutex_unlock(&mutex);
}

size_t device_arena_current(void) { return current; }
size_t device_arena_peak(void) { return peak; }

void device_arena_reset_peak(void) {
  pthread_mutex_lock(&mutex);
  peak = current;
  pthread_mutex_unlock(&mutex);
}

void device_arena_set_limit(size_t bytes) {
  pthread_mutex_lock(&mutex);
  limit = bytes;
  pthread_mutex_unlock(&mutex);
}
