/* Definition of a handle; private to the library. */
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
  GREETING, /* HELLO was sent; its reply is pending */
  CONNECTED
};

/* One registered thread; tid 0: a free entry. */
struct thread_entry {
  int32_t tid;
  bool announced; /* sent over the present connection */
};

/* Lives in its own mapping, which the kernel zeroes in a forked child, so that
 * `alive` reads 0 there.
 *
 * The hint page keeps its address for the handle's lifetime. Without penstockd
 * it is private memory; a new connection maps its page over it in one step. So
 * a thread in the middle of a read never touches an unmapped address. */
struct penstock_handle {
  bool alive;
  bool zeroed_on_fork; /* the kernel supports MADV_WIPEONFORK */
  pid_t owner;         /* compared with getpid() if it does not */

  const struct penstock_hint_page* hint;
  _Atomic uint64_t next_check_ns; /* CLOCK_MONOTONIC */
  _Atomic int state;              /* connection_state */

  pthread_mutex_t lock; /* guards the fields below; held only for bounded,
                           non-blocking work */
  int socket;
  struct sockaddr_un address;

  struct penstock_progress_page* progress; /* null without penstockd */
  struct penstock_progress reported;       /* last report of this handle; the
                                              trainer's times as of updated_ns */
  struct penstock_progress base; /* counters of earlier processes of the same
                                    task: the page's must never go back */
  uint64_t started_ns;
  uint64_t updated_ns; /* CLOCK_MONOTONIC of the last consumed batch */

  uint32_t thread_count; /* entries of threads used so far */
  struct thread_entry threads[PENSTOCK_MAX_THREADS];
};

uint64_t monotonic_ns(void);

/* Advances the connection without blocking: connects, reads the reply to HELLO,
 * detects a closed socket, announces threads. A failure leaves the handle
 * disconnected. REQUIRES: lock is held. */
void connection_step(struct penstock_handle* handle);

/* Announces one thread to penstockd. REQUIRES: lock is held. Returns false if
 * not connected or if the socket accepts no more now. */
bool announce_thread(struct penstock_handle* handle, int32_t tid,
                     bool is_loader);

/* Checks and maps the two received pages and carries the counters over. Returns
 * false and changes nothing if either page is invalid. The caller keeps the
 * fds. REQUIRES: lock is held. */
bool adopt_pages(struct penstock_handle* handle, int progress_fd, int hint_fd);

/* Unmaps both pages. REQUIRES: lock is held. */
void drop_pages(struct penstock_handle* handle);

/* Writes the last report to the progress page, if any. REQUIRES: lock is
 * held. */
void publish_progress(const struct penstock_handle* handle);

#endif
