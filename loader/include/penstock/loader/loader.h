/* Penstock's loader for C: dataset.h and pipeline.h, which say what everything
 * here means, with plain types.
 *
 * Functions return 0, or a positive errno value whose message
 * penstock_loader_error() gives. What they hand out is set on success only.
 *   EINVAL     unusable options, paths or data
 *   ENOENT     no such file, or no sample in it
 *   EACCES     it may not be read
 *   ENOMEM     no memory, no threads, or a bound that holds too little
 *   ENOTSUP    the file system refuses O_DIRECT, where that is fatal; a
 * database is being written EIO        data cannot be read, or is broken
 * throughout Threads: a dataset serves any number; all else belongs to one at a
 * time.
 */
#ifndef PENSTOCK_LOADER_H
#define PENSTOCK_LOADER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct penstock_handle;  /* penstock.h */
struct penstock_dataset; /* what there is to load */
struct penstock_loader;  /* a pipeline */

/* Of the calling thread's last call that failed; never null. */
const char* penstock_loader_error(void);

/* A file of records of one size, instead of pictures. */
struct penstock_records {
  uint64_t record_bytes; /* its label included */
  uint64_t label_bytes;  /* 0 to 4 */
  uint64_t header_bytes; /* before the first record */
};

/* Opens a folder of pictures, an LMDB database of such, tar shards, or with
 * records (may be null) a file of such. The dataset may be closed while loaders
 * still use it. */
int penstock_dataset_open(const char* const* paths, size_t count,
                          const struct penstock_records* records,
                          struct penstock_dataset** dataset);
uint64_t penstock_dataset_size(const struct penstock_dataset* dataset);
void penstock_dataset_close(struct penstock_dataset* dataset);

/* All that has to be kept to go on with an epoch, by any number of ranks. */
struct penstock_loader_state {
  uint64_t count; /* samples of the dataset */
  uint64_t seed;
  uint64_t epoch;
  uint64_t position; /* what all ranks have behind them of the epoch */
  uint32_t shuffle;
};

struct penstock_loader_options {
  size_t batch_samples;
  int32_t crop_side; /* pixels */
  uint64_t seed;
  uint64_t ranks;
  uint64_t rank;
  uint64_t total_samples; /* of the stream; UINT64_MAX: no end */
  uint64_t memory_bytes;  /* 0: no bound */
  size_t threads;         /* at the start */
  size_t threads_max;
  uint32_t shuffle;   /* the following are 0 or 1 */
  uint32_t drop_tail; /* else it is padded */
  uint32_t spans_epochs;
  uint32_t is_ordered;
  uint32_t broken_is_fatal;
  uint32_t is_direct;
  uint32_t elastic;
  const struct penstock_loader_state* from; /* null: from the beginning */
  struct penstock_handle* handle; /* whose hints are followed; may be null, and
                                     must outlive the loader */
};

/* Sets every option to its default. */
void penstock_loader_defaults(struct penstock_loader_options* options);

int penstock_loader_create(const struct penstock_dataset* dataset,
                           const struct penstock_loader_options* options,
                           struct penstock_loader** loader);
/* Stops the threads; no batch may be in use any more. */
void penstock_loader_destroy(struct penstock_loader* loader);

struct penstock_batch {
  const float* data;       /* samples x sample_floats */
  const int64_t* labels;   /* -1: none */
  const uint64_t* indices; /* in the dataset */
  size_t samples;
  size_t sample_floats;
  uint64_t number; /* in the stream, from 0 */
  uint32_t ends_epoch;
};

/* The next batch; it is valid until it is released, and several may be in use.
 *   ETIMEDOUT  none within timeout_ns, or somewhat less
 *   ENODATA    the stream's end */
int penstock_loader_next(struct penstock_loader* loader, uint64_t timeout_ns,
                         struct penstock_batch* batch);
void penstock_loader_release(struct penstock_loader* loader,
                             const struct penstock_batch* batch);

/* After the batches that were handed out. */
void penstock_loader_get_state(const struct penstock_loader* loader,
                               struct penstock_loader_state* state);
uint64_t penstock_loader_samples_per_epoch(
    const struct penstock_loader* loader);

struct penstock_loader_counters {
  uint64_t prepared; /* good samples */
  uint64_t broken;   /* broken ones, each time they were */
  uint64_t bytes;
  uint64_t fetch_ns; /* summed over threads */
  uint64_t prep_ns;
  uint64_t cpu_ns;
  size_t threads; /* now */
};
/* Any thread. */
void penstock_loader_get_counters(const struct penstock_loader* loader,
                                  struct penstock_loader_counters* counters);

#ifdef __cplusplus
}
#endif

#endif
