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

/* The fields of the progress page, in order, after its magic and version: this
 * table makes the page's struct, and its handling by libpenstock and penstockd.
 * tests/check_facts.py compares the public struct, Python's offsets and the
 * table in docs/protocol.md with it.
 *
 *   MOMENT   CLOCK_MONOTONIC, 64 bits
 *   COUNTER  since started_ns, only grows, 64 bits
 *   LEVEL    at this time, may shrink, 64 bits
 *   STATE    at this time, 32 bits; only in pairs, for their alignment
 *
 * Written by the job, read by penstockd once per sample period (default 1 s). A
 * field unknown to the job stays 0. A consistent set, written for each consumed
 * batch: updated_ns, samples, wait_ns, exchange_ns, delay_ns. */
/* clang-format off */
#define PENSTOCK_PROGRESS_FIELDS(MOMENT, COUNTER, LEVEL, STATE) \
  /* of the last consumed batch; before it, of the first report */             \
  MOMENT(updated_ns)                                                           \
  /* start of watching */                                                      \
  MOMENT(started_ns)                                                           \
  /* consumed by the trainer */                                                \
  COUNTER(samples)                                                             \
  /* batches consumed by the trainer */                                        \
  COUNTER(steps)                                                               \
  /* time the trainer waited for data */                                       \
  COUNTER(wait_ns)                                                             \
  /* read from storage for those samples */                                    \
  COUNTER(bytes)                                                               \
  /* time loader threads spent reading, summed */                              \
  COUNTER(fetch_ns)                                                            \
  /* time loader threads spent preparing, summed */                            \
  COUNTER(prep_ns)                                                             \
  /* samples that the loader has finished */                                   \
  COUNTER(prepared)                                                            \
  /* 1 while one prepared batch is replayed */                                 \
  LEVEL(replaying)                                                             \
  /* running now */                                                            \
  STATE(loader_threads)                                                        \
  /* 1: loader_threads follows the hint, more could run; else 0 */             \
  STATE(follows_hint)                                                          \
  /* time the trainer waited for gradient exchange */                          \
  COUNTER(exchange_ns)                                                         \
  /* samples from the loader's own cache instead of storage */                 \
  COUNTER(cached)                                                              \
  /* bytes of `cached`; not included in `bytes` */                             \
  COUNTER(cached_bytes)                                                        \
  /* samples in this cache now */                                              \
  LEVEL(cache_samples)                                                         \
  /* samples in the cache's data set */                                        \
  LEVEL(data_samples)                                                          \
  /* part of `cached` from other nodes' caches */                              \
  COUNTER(peer)                                                                \
  /* bytes of `peer` */                                                        \
  COUNTER(peer_bytes)                                                          \
  /* common number of jobs that prepare together; 0: alone */                  \
  LEVEL(share)                                                                 \
  /* run delay of the training thread, less that in wait_ns */                 \
  COUNTER(delay_ns)                                                            \
  /* that compute the model on the CPU; 0: unknown, or elsewhere */            \
  LEVEL(compute_threads)
/* clang-format on */

#define PENSTOCK_PROGRESS_WORD(name) uint64_t name;
#define PENSTOCK_PROGRESS_HALF(name) uint32_t name;

struct penstock_progress_page {
  uint32_t magic;
  uint32_t version;
  PENSTOCK_PROGRESS_FIELDS(PENSTOCK_PROGRESS_WORD, PENSTOCK_PROGRESS_WORD,
                           PENSTOCK_PROGRESS_WORD, PENSTOCK_PROGRESS_HALF)
};

/* For the kinds of fields that a use of the table leaves out. */
#define PENSTOCK_PROGRESS_NOTHING(name)

/* Written by penstockd, read by the job. A seqlock: sequence is odd during a
 * write; a reader copies the fields, then checks sequence again. */
struct penstock_hint_page {
  uint32_t magic;
  uint32_t version;
  uint32_t sequence;
  uint32_t loader_threads; /* number that can run at once; 0: no hint */
  uint64_t grant_version;  /* grows with every change of the grant */
  uint64_t granted_millicores;
  uint64_t rate_bytes_per_s; /* 0: no limit */
  uint64_t kernel_limited;   /* 1: the kernel enforces the rate already */
};

#endif
