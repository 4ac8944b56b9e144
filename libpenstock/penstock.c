#define _GNU_SOURCE /* gettid */
#include "libpenstock/include/penstock.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/protocol.h"
#include "libpenstock/handle.h"

static const uint64_t kCheckPeriodNs = 1000000000u;
static const uint64_t kOpenBudgetNs = 100000000u;
enum { kSeqlockTries = 64 };

static bool usable(const struct penstock_handle* handle) {
  return handle != NULL && handle->alive &&
         (handle->zeroed_on_fork || handle->owner == getpid());
}

static void* map_private(size_t bytes, int protection) {
  void* memory =
      mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

static void set_address(struct sockaddr_un* address, const char* path) {
  if (path == NULL) path = getenv("PENSTOCK_SOCKET");
  if (path == NULL || path[0] == '\0') path = PENSTOCK_SOCKET_PATH;
  address->sun_family = AF_UNIX;
  /* An overlong path cannot name a socket; an empty address never connects. */
  if (strlen(path) < sizeof address->sun_path) {
    strcpy(address->sun_path, path);
  }
}

/* Checks the connection once a second. REQUIRES: lock is held. */
static void step_when_due(struct penstock_handle* handle, uint64_t now_ns) {
  if (now_ns < handle->next_check_ns) return;
  handle->next_check_ns = now_ns + kCheckPeriodNs;
  connection_step(handle);
}

/* step_when_due() for callers without the lock; skipped if another thread holds
 * it. */
static void check_connection(struct penstock_handle* handle) {
  const uint64_t now_ns = monotonic_ns();
  if (now_ns <
      atomic_load_explicit(&handle->next_check_ns, memory_order_relaxed)) {
    return;
  }
  if (pthread_mutex_trylock(&handle->lock) != 0) return;
  step_when_due(handle, now_ns);
  pthread_mutex_unlock(&handle->lock);
}

static void connect_within_budget(struct penstock_handle* handle) {
  const uint64_t deadline_ns = handle->started_ns + kOpenBudgetNs;
  connection_step(handle);
  while (handle->state == GREETING) {
    uint64_t now_ns = monotonic_ns();
    if (now_ns >= deadline_ns) return; /* a later check continues */
    struct pollfd readable = {handle->socket, POLLIN, 0};
    poll(&readable, 1, (int)((deadline_ns - now_ns) / 1000000u));
    connection_step(handle);
    if (handle->state == DISCONNECTED) return;
  }
}

struct penstock_handle* penstock_open(const char* path) {
  struct penstock_handle* handle =
      map_private(sizeof *handle, PROT_READ | PROT_WRITE);
  if (handle == NULL) return NULL;
  handle->hint = map_private(PENSTOCK_PAGE_BYTES, PROT_READ);
  if (handle->hint == NULL) {
    munmap(handle, sizeof *handle);
    return NULL;
  }
  handle->zeroed_on_fork =
      madvise(handle, sizeof *handle, MADV_WIPEONFORK) == 0;
  handle->owner = getpid();
  handle->socket = -1;
  handle->started_ns = monotonic_ns();
  pthread_mutex_init(&handle->lock, NULL);
  set_address(&handle->address, path);
  handle->alive = true;
  connect_within_budget(handle);
  handle->next_check_ns = handle->started_ns + kCheckPeriodNs;
  return handle;
}

int penstock_connected(struct penstock_handle* handle) {
  if (!usable(handle)) return 0;
  check_connection(handle);
  return handle->state == CONNECTED;
}

/* Keeps samples, the trainer's times and updated_ns consistent: a wait in
 * progress is published with the batch that ends it. The first report sets
 * updated_ns to the start of watching. */
static void take_report(struct penstock_handle* handle,
                        const struct penstock_progress* progress,
                        uint64_t now_ns) {
  const struct penstock_progress shown = handle->reported;
  handle->reported = *progress;
  handle->reported.replaying = progress->replaying != 0;
  handle->reported.follows_hint = progress->follows_hint != 0;
  if (progress->samples > shown.samples || progress->steps > shown.steps ||
      handle->updated_ns == 0) {
    handle->updated_ns = now_ns;
  } else {
    handle->reported.wait_ns = shown.wait_ns;
    handle->reported.exchange_ns = shown.exchange_ns;
    handle->reported.delay_ns = shown.delay_ns;
  }
}

void penstock_report(struct penstock_handle* handle,
                     const struct penstock_progress* progress) {
  if (!usable(handle)) return;
  /* Another thread holds the lock for microseconds once a second. The counters
   * are absolute, so the next report replaces a skipped one. */
  if (pthread_mutex_trylock(&handle->lock) != 0) return;
  const uint64_t now_ns = monotonic_ns();
  take_report(handle, progress, now_ns);
  step_when_due(handle, now_ns);
  publish_progress(handle);
  pthread_mutex_unlock(&handle->lock);
}

static bool hint_is_in_range(const struct penstock_hint* hint) {
  return hint->loader_threads >= 1 &&
         hint->loader_threads <= PENSTOCK_MAX_THREADS &&
         hint->kernel_limited <= 1;
}

#define LOAD(field) __atomic_load_n(&page->field, __ATOMIC_RELAXED)

int penstock_read_hint(struct penstock_handle* handle,
                       struct penstock_hint* hint) {
  if (!usable(handle)) return 0;
  check_connection(handle);
  const struct penstock_hint_page* page = handle->hint;
  for (int i = 0; i < kSeqlockTries; ++i) {
    uint32_t before = __atomic_load_n(&page->sequence, __ATOMIC_ACQUIRE);
    if (LOAD(magic) != PENSTOCK_HINT_MAGIC) return 0;
    struct penstock_hint copy = {LOAD(grant_version), LOAD(granted_millicores),
                                 LOAD(rate_bytes_per_s), LOAD(loader_threads),
                                 (uint32_t)(LOAD(kernel_limited) != 0)};
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if ((before & 1) != 0 || LOAD(sequence) != before) continue;
    if (!hint_is_in_range(&copy)) return 0;
    *hint = copy;
    return 1;
  }
  return 0; /* penstockd died during a write */
}

static struct thread_entry* find_thread(struct penstock_handle* handle,
                                        int32_t tid) {
  for (uint32_t i = 0; i < handle->thread_count; ++i) {
    if (handle->threads[i].tid == tid) return &handle->threads[i];
  }
  return NULL;
}

static int add_thread(struct penstock_handle* handle, int32_t tid) {
  struct thread_entry* entry = find_thread(handle, tid);
  if (entry == NULL) entry = find_thread(handle, 0);
  if (entry == NULL) {
    if (handle->thread_count == PENSTOCK_MAX_THREADS) return ENOSPC;
    entry = &handle->threads[handle->thread_count++];
  }
  entry->tid = tid;
  entry->announced = announce_thread(handle, tid, true);
  return 0;
}

static int remove_thread(struct penstock_handle* handle, int32_t tid) {
  struct thread_entry* entry = find_thread(handle, tid);
  if (entry == NULL) return 0;
  if (entry->announced) announce_thread(handle, tid, false);
  entry->tid = 0;
  entry->announced = false;
  return 0;
}

static int change_thread(struct penstock_handle* handle, int32_t tid,
                         int (*change)(struct penstock_handle*, int32_t)) {
  if (handle == NULL) return 0;
  if (!usable(handle)) return ECHILD;
  if (tid < 0) return EINVAL;
  pthread_mutex_lock(&handle->lock);
  int error = change(handle, tid == 0 ? gettid() : tid);
  pthread_mutex_unlock(&handle->lock);
  return error;
}

int penstock_register_thread(struct penstock_handle* handle, int32_t tid) {
  return change_thread(handle, tid, add_thread);
}

int penstock_unregister_thread(struct penstock_handle* handle, int32_t tid) {
  return change_thread(handle, tid, remove_thread);
}

void penstock_close(struct penstock_handle* handle) {
  if (!usable(handle)) return;
  handle->alive = false;
  if (handle->socket >= 0) close(handle->socket);
  drop_pages(handle);
  munmap((void*)(uintptr_t)handle->hint, PENSTOCK_PAGE_BYTES);
  pthread_mutex_destroy(&handle->lock);
  munmap(handle, sizeof *handle);
}
