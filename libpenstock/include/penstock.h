/* libpenstock: what a training job tells Penstock, and what Penstock tells it.
 *
 * The job reports progress by absolute counters, registers its loader threads
 * and reads its grant. Everything goes through two shared pages that penstockd
 * hands over a unix socket; a report is a few plain stores.
 *
 * Where no penstockd answers, every call is a cheap no-op and the job runs as
 * without Penstock. When penstockd comes back, the handle finds it within two
 * seconds, registers its threads again and carries on its counters.
 *
 * Blocking: penstock_open() takes 100 ms at most; nothing else ever blocks.
 * Signals: none is raised (SIGPIPE included), no handler is installed.
 * Fork: a child must open its own handle; its parent's is a no-op there.
 * Threads: any thread may call anything but penstock_close(), which must be
 * the last call on its handle; penstock_report() belongs to one thread.
 * Processes: each that opens a handle has pages of its own, at most 64 of one
 * task. One that opens it after another one of its task has ended takes that
 * one's pages over, and goes on where it ended.
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

struct penstock_handle; /* a handle */

/* Counters since penstock_open(); they only grow. Leave 0 what is not known. */
struct penstock_progress {
  uint64_t samples;        /* consumed by the trainer */
  uint64_t steps;          /* batches consumed by the trainer */
  uint64_t wait_ns;        /* time that the trainer waited for data */
  uint64_t bytes;          /* read from storage */
  uint64_t fetch_ns;       /* time of loader threads spent reading, summed */
  uint64_t prep_ns;        /* time of loader threads spent preparing, summed */
  uint64_t prepared;       /* samples that the loader has finished */
  uint32_t replaying;      /* 1 while one prepared batch is replayed */
  uint32_t loader_threads; /* running now */
  uint32_t follows_hint;   /* 1: their number follows the hint's
                              loader_threads; a job that leaves it 0 is lent
                              no CPUs for more threads than it runs */
  uint64_t exchange_ns;    /* time that the trainer waited for the exchange of
                              gradients; no part of wait_ns */
  uint64_t cached;         /* samples that came out of a cache that the loader
                              has for them, and not from storage */
  uint64_t cached_bytes;   /* of those; no part of bytes */
  uint64_t cache_samples;  /* that are in this cache now; may shrink */
  uint64_t data_samples;   /* of the data set; may change */
  uint64_t peer;           /* of cached, samples out of other nodes' caches */
  uint64_t peer_bytes;     /* of those */
  uint64_t share;          /* a number that the jobs which prepare their batches
                              together have alike; 0: it prepares alone */
};

/* The job's grant as penstockd last wrote it. */
struct penstock_hint {
  uint64_t grant_version;      /* grows with every change of the grant */
  uint64_t granted_millicores; /* home and away CPUs, in thousandths */
  uint64_t rate_bytes_per_s;   /* from storage; 0: no limit */
  uint32_t loader_threads;     /* how many can run at once; 1 to 4096 */
  uint32_t kernel_limited;     /* 1: the kernel keeps the rate already; 0: the
                                  loader has to */
};

/* Connects to the socket at path; null: to $PENSTOCK_SOCKET, or else to
 * /run/penstock/penstockd.sock. Returns a handle whether anybody answers or
 * not; null only when memory ran out. */
struct penstock_handle* penstock_open(const char* path);

/* 1 while penstockd is connected, 0 otherwise. */
int penstock_connected(struct penstock_handle* handle);

/* Publishes the counters; called after each batch, and costs some ten
 * nanoseconds. Called in between, wait_ns and exchange_ns are published with
 * the next batch.
 * Once a second it also looks whether penstockd is still there. */
void penstock_report(struct penstock_handle* handle,
                     const struct penstock_progress* progress);

/* Copies the grant. Returns 1, or 0 when there is none (no penstockd, or its
 * page was not usable); *hint is then left alone. */
int penstock_read_hint(struct penstock_handle* handle,
                       struct penstock_hint* hint);

/* Names a thread, or a process, of this job as loader, or as loader no longer.
 * tid is as the caller's pid namespace has it; 0: the calling thread. A thread
 * that ends must be unregistered first. Returns 0, or a positive errno value:
 * EINVAL a negative tid, ENOSPC over PENSTOCK_MAX_THREADS, ECHILD a handle of
 * the parent process. Without penstockd the registration is kept for when it
 * comes. */
int penstock_register_thread(struct penstock_handle* handle, int32_t tid);
int penstock_unregister_thread(struct penstock_handle* handle, int32_t tid);

/* Ends the connection and frees the handle. */
void penstock_close(struct penstock_handle* handle);

#ifdef __cplusplus
}
#endif

#endif
