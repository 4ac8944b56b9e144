/* The two pages that a task's process shares with penstockd (docs/protocol.md).
 *
 * Both are memfds. penstockd creates them, seals them against resizing, and
 * sends them over its socket. The job can map the hint page only read-only.
 *
 * Plain C: the plugin, libpenstock and the daemon include it. All fields are
 * naturally aligned and written with one store each. A reader must validate
 * every field.
 */
#ifndef PENSTOCK_COMMON_PAGE_H
#define PENSTOCK_COMMON_PAGE_H

#include <stdint.h>

#define PENSTOCK_PAGE_BYTES 4096u
#define PENSTOCK_PAGE_VERSION 1u
#define PENSTOCK_PROGRESS_MAGIC 0x50504e50u /* "PNPP" */
#define PENSTOCK_HINT_MAGIC 0x50484e50u     /* "PNHP" */

/* Written by the job, read by penstockd once per sample period (default 1 s).
 * Counters only grow. A field unknown to the job stays 0.
 *
 * A consistent set, written for each consumed batch: updated_ns, samples,
 * wait_ns, exchange_ns, delay_ns. */
struct penstock_progress_page {
  uint32_t magic;
  uint32_t version;
  uint64_t updated_ns;     /* CLOCK_MONOTONIC of the last consumed batch; before
                              the first batch, of the first report */
  uint64_t started_ns;     /* CLOCK_MONOTONIC at the start of watching */
  uint64_t samples;        /* consumed by the trainer */
  uint64_t steps;          /* batches consumed by the trainer */
  uint64_t wait_ns;        /* time the trainer waited for data */
  uint64_t bytes;          /* read from storage for those samples */
  uint64_t fetch_ns;       /* time loader threads spent reading, summed */
  uint64_t prep_ns;        /* time loader threads spent preparing, summed */
  uint64_t prepared;       /* samples that the loader has finished */
  uint64_t replaying;      /* 1 while one prepared batch is replayed */
  uint32_t loader_threads; /* running now */
  uint32_t follows_hint;   /* 1: loader_threads follows the hint page's value,
                              so more could run; 0: not; no other value */
  uint64_t exchange_ns;    /* time the trainer waited for gradient exchange */
  uint64_t cached;         /* samples read from the loader's own cache instead
                              of storage */
  uint64_t cached_bytes;   /* bytes of `cached`; not included in `bytes` */
  uint64_t cache_samples;  /* samples in this cache now */
  uint64_t data_samples;   /* samples in the cache's data set */
  uint64_t peer;           /* part of `cached` from other nodes' caches */
  uint64_t peer_bytes;     /* bytes of `peer` */
  uint64_t share;          /* common number of a user's jobs that prepare their
                              batches together; 0: this job prepares alone */
  uint64_t delay_ns;       /* run delay of the training thread (schedstat),
                              except the delay within wait_ns */
};

/* Written by penstockd, read by the job. A seqlock: sequence is odd during a
 * write; a reader copies the fields, then checks sequence again. */
struct penstock_hint_page {
  uint32_t magic;
  uint32_t version;
  uint32_t sequence;
  uint32_t loader_threads; /* number that can run at once; at least 1 */
  uint64_t grant_version;  /* grows with every change of the grant */
  uint64_t granted_millicores;
  uint64_t rate_bytes_per_s; /* 0: no limit */
  uint64_t kernel_limited;   /* 1: the kernel enforces the rate already */
};

#endif
