#define _GNU_SOURCE /* mremap, F_GET_SEALS */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "libpenstock/handle.h"

/* Without these seals a page could be cut short under us, and a store to it
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

/* Replaces the mapping at `place` by the one at `page`, in one step as other
 * threads see it. */
static bool move_page(void* page, const void* place) {
  return mremap(page, PENSTOCK_PAGE_BYTES, PENSTOCK_PAGE_BYTES,
                MREMAP_MAYMOVE | MREMAP_FIXED,
                (void*)(uintptr_t)place) != MAP_FAILED;
}

static bool hint_is_valid(const struct penstock_hint_page* hint) {
  return hint->magic == PENSTOCK_HINT_MAGIC &&
         hint->version == PENSTOCK_PAGE_VERSION;
}

/* The job is the page's writer, so an empty one (magic 0) is good too. */
static bool progress_is_valid(const struct penstock_progress_page* progress) {
  if (progress->magic == 0) return true;
  return progress->magic == PENSTOCK_PROGRESS_MAGIC &&
         progress->version == PENSTOCK_PAGE_VERSION;
}

/* The new page starts with all that was reported before, so that no counter
 * ever goes back. It is filled before anybody can see it at its place. */
static void fill_progress(const struct penstock_handle* handle,
                          struct penstock_progress_page* page) {
  memcpy(page, handle->progress, sizeof *page);
  page->magic = PENSTOCK_PROGRESS_MAGIC;
  page->version = PENSTOCK_PAGE_VERSION;
  page->started_ns = handle->started_ns;
}

bool adopt_pages(struct penstock_handle* handle, int progress_fd, int hint_fd) {
  if (!is_sealed_page(progress_fd) || !is_sealed_page(hint_fd)) return false;
  struct penstock_progress_page* progress =
      map_page(progress_fd, PROT_READ | PROT_WRITE);
  struct penstock_hint_page* hint = map_page(hint_fd, PROT_READ);
  bool valid = progress != NULL && hint != NULL && hint_is_valid(hint) &&
               progress_is_valid(progress);
  if (valid) {
    fill_progress(handle, progress);
    if (move_page(progress, handle->progress)) progress = NULL;
    if (move_page(hint, handle->hint)) hint = NULL;
    valid = progress == NULL && hint == NULL;
  }
  if (progress != NULL) munmap(progress, PENSTOCK_PAGE_BYTES);
  if (hint != NULL) munmap(hint, PENSTOCK_PAGE_BYTES);
  return valid;
}

void drop_pages(struct penstock_handle* handle) {
  const int protection = PROT_READ | PROT_WRITE;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  void* progress = mmap(NULL, PENSTOCK_PAGE_BYTES, protection, flags, -1, 0);
  void* hint = mmap(NULL, PENSTOCK_PAGE_BYTES, PROT_READ, flags, -1, 0);
  /* Out of mappings: the old pages stay; they are sealed, thus harmless. */
  if (progress != MAP_FAILED) {
    memcpy(progress, handle->progress, sizeof *handle->progress);
    if (!move_page(progress, handle->progress)) {
      munmap(progress, PENSTOCK_PAGE_BYTES);
    }
  }
  if (hint != MAP_FAILED && !move_page(hint, handle->hint)) {
    munmap(hint, PENSTOCK_PAGE_BYTES);
  }
}
