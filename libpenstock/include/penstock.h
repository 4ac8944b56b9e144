/* libpenstock: the interface between a training job and Penstock.
 *
 * The job reports progress by absolute counters, registers its loader threads
 * and reads its grant. penstockd sends two shared pages over a unix socket for
 * progress and grant; a report is a few plain stores.
 *
 * Without penstockd every call is a cheap no-op and the job runs as without
 * Penstock. After penstockd returns, the handle reconnects within two seconds,
 * registers its threads again and continues its counters. (This needs calls of
 * report, read_hint or connected.)
 *
 * Blocking: penstock_open() takes at most 100 ms; no other call blocks.
 * Signals: none is raised (not even SIGPIPE); no handler is installed.
 * Fork: a child must open its own handle; its parent's is a no-op there.
 * Threads: thread-safe, with two exceptions. penstock_close() must be the last
 * call on its handle. Only one thread may call penstock_report().
 * Processes: each process that opens a handle has its own pages, at most 64
 * processes of one task. A process that opens a handle after another one of its
 * task has ended inherits that one's pages and counters.
 * A null handle is allowed everywhere and does nothing.
 */
#ifndef PENSTOCK_H
#define PENSTOCK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PENSTOCK_API_VERSION 1
#define PENSTOCK_MAX_THREADS 4096

struct penstock_handle;

/* Counters since penstock_open(); they only grow. Unknown fields are 0. */
struct penstock_progress {
  uint64_t samples;        /* consumed by the trainer */
  uint64_t steps;          /* batches consumed by the trainer */
  uint64_t wait_ns;        /* time the trainer waited for data */
  uint64_t bytes;          /* read from storage */
  uint64_t fetch_ns;       /* time loader threads spent reading, summed */
  uint64_t prep_ns;        /* time loader threads spent preparing, summed */
  uint64_t prepared;       /* samples that the loader has finished */
  uint32_t replaying;      /* 1 while one prepared batch is replayed */
  uint32_t loader_threads; /* running now */
  uint32_t follows_hint;   /* 1: loader_threads follows the hint's value. At 0
                              the job is lent no CPUs for more threads than it
                              runs */
  uint64_t exchange_ns;    /* time the trainer waited for the exchange of
                              gradients; not included in wait_ns */
  uint64_t cached;         /* samples read from the loader's own cache instead
                              of storage */
  uint64_t cached_bytes;   /* bytes of `cached`; not included in `bytes` */
  uint64_t cache_samples;  /* samples in this cache now; may shrink */
  uint64_t data_samples;   /* samples in the data set; may change */
  uint64_t peer;           /* part of `cached` from other nodes' caches */
  uint64_t peer_bytes;     /* bytes of `peer` */
  uint64_t share;          /* common number of jobs that prepare their batches
                              together; 0: this job prepares alone */
  uint64_t delay_ns;       /* run delay of the training thread, as the kernel
                              counts it (/proc/thread-self/schedstat), less the
                              delay within wait_ns and exchange_ns */
  /* threads that compute the model on the CPU; 0: unknown, or elsewhere */
  uint64_t compute_threads;
};

/* The job's present grant, last written by penstockd. */
struct penstock_hint {
  uint64_t grant_version;      /* grows with every change of the grant */
  uint64_t granted_millicores; /* home and away CPUs, in thousandths */
  uint64_t rate_bytes_per_s;   /* from storage; 0: no limit */
  uint32_t loader_threads;     /* number that can run at once; 1 to 4096 */
  uint32_t kernel_limited;     /* 1: the kernel enforces the rate; 0: the loader
                                  must */
};

/* Connects to the socket at path; null: to $PENSTOCK_SOCKET, or else to
 * /run/penstock/penstockd.sock. Returns a handle even without penstockd; null
 * only if memory ran out. */
struct penstock_handle* penstock_open(const char* path);

/* 1 while penstockd is connected, 0 otherwise. */
int penstock_connected(struct penstock_handle* handle);

/* Publishes the counters; call it after each batch. Costs some ten nanoseconds.
 * A call between batches publishes wait_ns and exchange_ns only with the next
 * batch. Once a second it also checks the connection to penstockd. */
void penstock_report(struct penstock_handle* handle,
                     const struct penstock_progress* progress);

/* Copies the grant. Returns 1, or 0 if there is none (no penstockd, or an
 * invalid page); *hint is unchanged then. */
int penstock_read_hint(struct penstock_handle* handle,
                       struct penstock_hint* hint);

/* Registers a thread or process of this job as a loader, or unregisters it.
 * tid is in the caller's pid namespace; 0: the calling thread. Unregister a
 * thread before it ends. Without penstockd the registration takes effect when
 * penstockd connects. Returns 0, or a positive errno value:
 *   EINVAL  tid is negative
 *   ENOSPC  more than PENSTOCK_MAX_THREADS threads
 *   ECHILD  the handle is the parent process's */
int penstock_register_thread(struct penstock_handle* handle, int32_t tid);
int penstock_unregister_thread(struct penstock_handle* handle, int32_t tid);

/* Closes the connection and frees the handle. */
void penstock_close(struct penstock_handle* handle);

#ifdef __cplusplus
}
#endif

#endif
