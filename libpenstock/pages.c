#define _GNU_SOURCE /* mremap, F_GET_SEALS */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "libpenstock/handle.h"

#define NOTHING PENSTOCK_PROGRESS_NOTHING

/* Without these seals the file could be truncated, and an access to the page
 * would raise SIGBUS. */
static bool is_sealed_page(int fd) {
  const int needed = F_SEAL_SHRINK | F_SEAL_GROW;
  struct stat status;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (status.st_size != (off_t)PENSTOCK_PAGE_BYTES) return false;
  int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & needed) == needed;
}

static void* map_page(int fd, int protection) {
  void* page = mmap(NULL, PENSTOCK_PAGE_BYTES, protection, MAP_SHARED, fd, 0);
  return page == MAP_FAILED ? NULL : page;
}

static void unmap_page(const void* page) {
  if (page != NULL) munmap((void*)(uintptr_t)page, PENSTOCK_PAGE_BYTES);
}

/* Replaces the handle's hint page atomically for other threads. */
static bool move_hint(struct penstock_handle* handle, void* page) {
  return mremap(page, PENSTOCK_PAGE_BYTES, PENSTOCK_PAGE_BYTES,
                MREMAP_MAYMOVE | MREMAP_FIXED,
                (void*)(uintptr_t)handle->hint) != MAP_FAILED;
}

static bool hint_is_valid(const struct penstock_hint_page* hint) {
  return hint->magic == PENSTOCK_HINT_MAGIC &&
         hint->version == PENSTOCK_PAGE_VERSION;
}

/* An empty page (magic 0) is valid too: the job has not written it yet. */
static bool progress_is_valid(const struct penstock_progress_page* progress) {
  if (progress->magic == 0) return true;
  return progress->magic == PENSTOCK_PROGRESS_MAGIC &&
         progress->version == PENSTOCK_PAGE_VERSION;
}

/* penstockd may give this process the page of an ended process of the same
 * task, also after a reconnection. Counts beyond our own reports come from that
 * process. */
static void carry_over(struct penstock_handle* handle,
                       const struct penstock_progress_page* page) {
#define CARRY(field)                                               \
  if (page->field > handle->base.field + handle->reported.field) { \
    handle->base.field = page->field - handle->reported.field;     \
  }
  PENSTOCK_PROGRESS_FIELDS(NOTHING, CARRY, NOTHING, NOTHING)
#undef CARRY
  if (page->started_ns != 0 && page->started_ns < handle->started_ns) {
    handle->started_ns = page->started_ns;
  }
  if (page->updated_ns > handle->updated_ns) {
    handle->updated_ns = page->updated_ns;
  }
}

void publish_progress(const struct penstock_handle* handle) {
  struct penstock_progress_page* page = handle->progress;
  if (page == NULL) return;
#define STORE(field, value) \
  __atomic_store_n(&page->field, (value), __ATOMIC_RELAXED);
#define COUNTER(field) STORE(field, handle->base.field + handle->reported.field)
#define LEVEL(field) STORE(field, handle->reported.field)
  PENSTOCK_PROGRESS_FIELDS(NOTHING, COUNTER, LEVEL, LEVEL)
#undef LEVEL
#undef COUNTER
#undef STORE
  /* Stored last: a reader that sees this time sees counters at least as new. */
  __atomic_store_n(&page->updated_ns, handle->updated_ns, __ATOMIC_RELEASE);
}

bool adopt_pages(struct penstock_handle* handle, int progress_fd, int hint_fd) {
  if (!is_sealed_page(progress_fd) || !is_sealed_page(hint_fd)) return false;
  struct penstock_progress_page* progress =
      map_page(progress_fd, PROT_READ | PROT_WRITE);
  struct penstock_hint_page* hint = map_page(hint_fd, PROT_READ);
  if (progress == NULL || hint == NULL || !hint_is_valid(hint) ||
      !progress_is_valid(progress) || !move_hint(handle, hint)) {
    unmap_page(progress);
    unmap_page(hint);
    return false;
  }
  carry_over(handle, progress);
  handle->progress = progress;
  progress->started_ns = handle->started_ns;
  publish_progress(handle);
  progress->version = PENSTOCK_PAGE_VERSION;
  __atomic_store_n(&progress->magic, PENSTOCK_PROGRESS_MAGIC, __ATOMIC_RELEASE);
  return true;
}

void drop_pages(struct penstock_handle* handle) {
  unmap_page(handle->progress);
  handle->progress = NULL;
  void* none = mmap(NULL, PENSTOCK_PAGE_BYTES, PROT_READ,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  /* If mmap fails the old page stays; it is sealed, so reading it is safe. */
  if (none != MAP_FAILED && !move_hint(handle, none)) unmap_page(none);
}
