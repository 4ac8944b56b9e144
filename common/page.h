/* The two pages that a task shares with penstockd (docs/protocol.md).
 *
 * Both are memfds that penstockd makes, sealed against resizing, and hands
 * over its socket; the hint page can only be mapped read-only by the job.
 * Plain C: the plugin, libpenstock and the daemon include it. All fields are
 * naturally aligned and written with one store each; a reader on the other
 * side trusts none of them.
 */
#ifndef PENSTOCK_COMMON_PAGE_H
#define PENSTOCK_COMMON_PAGE_H

#include <stdint.h>

#define PENSTOCK_PAGE_BYTES 4096u
#define PENSTOCK_PAGE_VERSION 1u
#define PENSTOCK_PROGRESS_MAGIC 0x50504e50u /* "PNPP" */
#define PENSTOCK_HINT_MAGIC 0x50484e50u     /* "PNHP" */

/* Written by the job, read by penstockd once a second. Counters only grow.
 * A field that the job cannot tell stays 0. */
struct penstock_progress_page {
  uint32_t magic;
  uint32_t version;
  uint64_t updated_ns;     /* CLOCK_MONOTONIC of the last consumed batch (before
                              the first: of the first report): with samples,
                              wait_ns and exchange_ns, one moment's figures */
  uint64_t started_ns;     /* CLOCK_MONOTONIC when watching began */
  uint64_t samples;        /* consumed by the trainer */
  uint64_t steps;          /* batches consumed by the trainer */
  uint64_t wait_ns;        /* time the trainer waited for data */
  uint64_t bytes;          /* read from storage for those samples */
  uint64_t fetch_ns;       /* time loader threads spent reading, summed */
  uint64_t prep_ns;        /* time loader threads spent preparing, summed */
  uint64_t prepared;       /* samples that the loader has finished */
  uint64_t replaying;      /* 1 while one prepared batch is replayed */
  uint32_t loader_threads; /* running now */
  uint32_t follows_hint;   /* 1: their number follows the hint page's, so more
                              could run; else 0, and nothing else */
  uint64_t exchange_ns;    /* time the trainer waited for gradient exchange */
  uint64_t cached;         /* samples that came out of a cache of the loader's
                              own, and not from storage */
  uint64_t cached_bytes;   /* of those; no part of bytes */
  uint64_t cache_samples;  /* that are in this cache now */
  uint64_t data_samples;   /* of the data set that it is for */
  uint64_t peer;           /* of cached, samples out of other nodes' caches */
  uint64_t peer_bytes;     /* of those */
  uint64_t share;          /* what jobs of a user that prepare their batches
                              together have alike; 0: this one prepares alone */
  uint64_t delay_ns;       /* run delay of the thread that trains (schedstat),
                              without that in wait_ns; of that moment too */
};

/* Written by penstockd, read by the job. sequence is odd while a write is
 * under way; a reader copies, then compares sequence (a seqlock). */
struct penstock_hint_page {
  uint32_t magic;
  uint32_t version;
  uint32_t sequence;
  uint32_t loader_threads; /* how many can run at once; at least 1 */
  uint64_t grant_version;  /* grows with every change of the grant */
  uint64_t granted_millicores;
  uint64_t rate_bytes_per_s; /* 0: no limit */
  uint64_t kernel_limited;   /* 1: the kernel enforces the rate already */
};

#endif
