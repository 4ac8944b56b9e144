/* The inside of a handle, shared by the library's own files only. */
#ifndef PENSTOCK_LIBPENSTOCK_HANDLE_H
#define PENSTOCK_LIBPENSTOCK_HANDLE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

#include "common/page.h"
#include "libpenstock/include/penstock.h"

enum connection_state {
  DISCONNECTED,
  GREETING, /* HELLO is sent, its reply is awaited */
  CONNECTED
};

/* One registered thread; tid 0: a free place. */
struct thread_entry {
  int32_t tid;
  bool announced; /* penstockd, as now connected, was told */
};

/* Lives in a mapping of its own that the kernel zeroes in a forked child, so
 * that `alive` reads 0 there. The hint page keeps its address for the handle's
 * whole life: without penstockd it is private memory, and a new connection maps
 * its page over that in one step, so that another thread in the middle of a
 * read never touches an unmapped address. */
struct penstock_handle {
  bool alive;
  bool zeroed_on_fork; /* the kernel could promise it */
  pid_t owner;         /* compared with getpid() where it could not */

  const struct penstock_hint_page* hint;
  _Atomic uint64_t next_check_ns; /* CLOCK_MONOTONIC */
  _Atomic int state;              /* connection_state */

  pthread_mutex_t lock; /* guards what follows; held for bounded, non-blocking
                           work only */
  int socket;
  struct sockaddr_un address;

  struct penstock_progress_page* progress; /* null without penstockd */
  struct penstock_progress reported; /* by this handle, last; its wait_ns as of
                                        updated_ns */
  struct penstock_progress base; /* by earlier processes of the same task: the
                                    page's counters must never go back */
  uint64_t started_ns;
  uint64_t updated_ns; /* of the last consumed batch */

  uint32_t thread_count; /* places used so far in threads */
  struct thread_entry threads[PENSTOCK_MAX_THREADS];
};

uint64_t monotonic_ns(void);

/* Takes the connection one step further without blocking: connects, reads the
 * reply to HELLO, notices a closed socket, announces threads. Any failure
 * leaves the handle disconnected. REQUIRES: lock is held. */
void connection_step(struct penstock_handle* handle);

/* Tells penstockd of one thread. REQUIRES: lock is held. Returns false when
 * the socket takes no more now. */
bool announce_thread(struct penstock_handle* handle, int32_t tid,
                     bool is_loader);

/* Checks the two received files, carries the counters over and maps the pages.
 * Returns false, with nothing changed, when either is not what penstockd
 * makes. The descriptors stay the caller's. REQUIRES: lock is held. */
bool adopt_pages(struct penstock_handle* handle, int progress_fd, int hint_fd);

/* Gives both pages back. REQUIRES: lock is held. */
void drop_pages(struct penstock_handle* handle);

/* Writes what was reported to the page, where there is one. REQUIRES: lock is
 * held. */
void publish_progress(const struct penstock_handle* handle);

#endif
