/* libpenstock_loader: a C interface that loads samples from storage into
 * batches in memory.
 *
 *   struct penstock_loader_options options = {.size = sizeof options};
 *   const char* paths[] = {"/data/train"};
 *   options.paths = paths;
 *   options.path_count = 1;
 *   struct penstock_loader* loader;
 *   if (penstock_loader_open(&options, &loader) != 0)
 *     die(penstock_loader_error());
 *   struct penstock_loader_batch batch;
 *   while (penstock_loader_next(loader, 1000000000, &batch) == 0) {
 *     train(batch.data, batch.labels, batch.size);
 *     penstock_loader_release(loader, &batch);
 *   }
 *
 * The stream repeats the epochs endlessly. Its order, crops and flips depend on
 * the seed alone, not on the number of threads. Under penstockd the loader
 * follows the job's grant and reports its progress; see penstock.h.
 *
 * Functions return 0, or a positive errno value; penstock_loader_error() then
 * has the message. They throw no exception.
 * Threads: all functions are thread-safe, with two exceptions. One thread at a
 * time may call penstock_loader_next(), and penstock_loader_close() must be the
 * last call on its loader.
 * Signals: the loader's threads block all signals; no handler is installed.
 * Fork: in a child process the parent's loader only returns ECHILD. Closing it
 * there is optional.
 */
#ifndef PENSTOCK_LOADER_H
#define PENSTOCK_LOADER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct penstock_loader; /* a loader */

/* Checkpoint of the stream: any number of ranks can resume from it. */
struct penstock_loader_state {
  uint64_t count; /* samples of the dataset */
  uint64_t seed;
  uint32_t sequential;
  uint32_t reserved; /* 0 */
  uint64_t epoch;
  uint64_t position; /* in the epoch's order: positions before it are done on
                        all ranks */
};

/* For training: a random part of the picture, 8% to 100% of its area, flipped
 * with probability 1/2. */
#define PENSTOCK_AUGMENT_RANDOM 0
/* For validation: the centred square with 224/256 of the picture's shorter
 * side, like torchvision's Resize(256) and CenterCrop(224). */
#define PENSTOCK_AUGMENT_CENTRE 1

/* A field that is 0 has the default in brackets. */
struct penstock_loader_options {
  size_t size; /* sizeof(struct penstock_loader_options) */

  /* A folder of pictures; an LMDB database of pictures; tar shards; or a file
   * of records. Each record is a label of record_label_bytes (0 to 4;
   * little-endian) and a tensor of bytes; record_header_bytes precede them. */
  const char* const* paths;
  size_t path_count;
  uint64_t record_bytes; /* with the label; [no records] */
  uint64_t record_label_bytes;
  uint64_t record_header_bytes;

  uint64_t batch_samples; /* [32] */
  uint64_t crop_side;     /* side of a prepared picture in pixels [224] */
  uint64_t seed;
  uint64_t ranks;        /* [1] */
  uint64_t rank;         /* < ranks */
  uint64_t threads;      /* [at first Slurm's number, then Penstock's grant] */
  uint64_t ring_batches; /* prepared ahead, including those in use [4] */
  uint64_t memory_bytes; /* limit for ring and threads [unlimited] */
  uint32_t sequential;   /* 1: not shuffled */
  uint32_t drop_tail;    /* 1: an epoch's last samples are left out if they are
                            fewer than the ranks [samples from the epoch's
                            beginning fill the round] */
  uint32_t broken_fatal; /* 1: a broken sample ends the stream [it is left
                            out of its batch] */
  uint32_t augment;      /* of pictures: PENSTOCK_AUGMENT_CENTRE or
                            [PENSTOCK_AUGMENT_RANDOM] */
  uint32_t unordered;    /* 1: an epoch's batches come as they become complete
                            [in the order of the seed] */
  uint32_t direct;       /* 1: bypass the page cache */
  uint32_t pinned;       /* 1: pin the batches' memory, at the first
                            penstock_loader_next() in a thread with a CUDA
                            context; see penstock_loader_release() */
  uint32_t reserved;     /* 0 */

  const struct penstock_loader_state* from; /* start [of epoch 0] */

  /* Called once for each broken sample of the dataset, in any thread. why is
   * valid during the call. [not called] */
  void (*broken)(void* context, const char* why);
  void* broken_context;

  /* This node's cache of stored samples. All loaders of the user with the same
   * data share it. If it is unavailable, the loader works without it; see
   * penstock_loader_check_cache(). */
  uint64_t cache_bytes;   /* quota of this job on this node; UINT64_MAX: half of
                             what its memory cgroups leave [no cache] */
  uint64_t cache_keep_s;  /* to keep the cache after its last use, at most
                             604800 */
  const char* cache_name; /* 1 to 64 letters, digits, ".-_" [from the data's
                             hash] */
  /* Nodes, including this one, that each cache a part of the data. A sample is
   * taken from its node's cache before storage is read. "auto": the job's
   * nodes; or a list in Slurm's notation, "n[1-4],m7". Nodes authenticate each
   * other by munge. On failure only this node's cache is used; see
   * penstock_loader_check_cache(). */
  const char* cache_peers; /* requires cache_bytes [none] */

  /* Name of a share, 1 to 64 letters, digits, ".-_": jobs of one user on this
   * node prepare each batch once for all of them. srun --loader-share=NAME sets
   * it in PENSTOCK_LOADER_SHARE.
   *
   * Data, batch_samples, crop_side, augment, seed and sequential must be equal
   * in all jobs. Each job gets all samples of its epochs; a job that joins
   * later starts with a later epoch. One batch at a time is in use. It must not
   * be written, as all jobs read the same memory.
   *
   * Not allowed with ranks, rank, ring_batches, memory_bytes, drop_tail,
   * unordered, pinned and from. */
  const char* share;     /* [no sharing] */
  uint64_t share_jobs;   /* jobs that start together, 1 to 64: the first batch
                            waits for them, 60 s at most [1] */
  uint64_t share_window; /* batches that the fastest job may be ahead of the
                            slowest, 2 to 512; the share's first job decides
                            [8] */
};

/* Valid until it is released. */
struct penstock_loader_batch {
  float* data;             /* size x sample_floats; pictures: 3 planes; of a
                              share: read-only */
  const int64_t* labels;   /* size; -1: no label */
  const uint64_t* indices; /* size; in the dataset */
  size_t size;             /* good samples; may be 0 if ends_epoch, or with
                              several ranks, as each gets all its batches */
  size_t sample_floats;
  uint64_t number;    /* of the batch, from 0 */
  int32_t ends_epoch; /* 1: the epoch's last batch handed out */
  int32_t is_pinned;  /* 1: pinned memory, which a GPU can copy by DMA */
};

/* Opens the data and starts the threads. On failure *loader is null.
 * EINVAL  a null pointer, a wrong size, an option out of its range, data of
 *         unknown format, a state of other data or options, a cache of other
 *         data, an invalid node list or one without this node, a share that
 *         prepares something else
 * ENOENT, EACCES, EIO or another error of the system: the data, or the share,
 *         cannot be opened
 * ENOMEM  no memory, also for a share's batches; memory_bytes too small; the
 *         share has 64 jobs
 * EAGAIN  no thread could be started */
int penstock_loader_open(const struct penstock_loader_options* options,
                         struct penstock_loader** loader);

/* Waits up to timeout_ns for the next batch.
 * ETIMEDOUT  no batch is ready yet
 * EDEADLK    no batch can come before one in use is released: memory is reused
 *            in the stream's order, and a share has one batch in use
 * ECHILD     this process is a child of the loader's
 * EIO        as many broken samples in a row as an epoch has
 * With broken_fatal, for a broken sample (from the share: EIO):
 * EINVAL     it cannot be decoded; or, in any case, a null pointer
 * ENOMEM     it is too large for its memory
 * ENOENT, EACCES, EIO or another error of the system: it cannot be read
 * After an error for broken samples every call returns that error. */
int penstock_loader_next(struct penstock_loader* loader, uint64_t timeout_ns,
                         struct penstock_loader_batch* batch);

/* Frees the batch's memory for other samples. No copy from it may be in
 * progress. A copy from pinned memory to a GPU (cudaMemcpyAsync) continues
 * after the call, until an event recorded after it is complete.
 * EINVAL  a null pointer, or a batch that is not in use, or another loader's;
 * ECHILD */
int penstock_loader_release(struct penstock_loader* loader,
                            const struct penstock_loader_batch* batch);

/* Gets the state from which to resume after the batches handed out.
 * ENOTSUP  the loader has a share; EINVAL  a null pointer; ECHILD */
int penstock_loader_get_state(struct penstock_loader* loader,
                              struct penstock_loader_state* state);

/* Work of the threads so far; times are summed over the threads. */
struct penstock_loader_counters {
  uint64_t prepared; /* good samples */
  uint64_t broken;   /* broken samples, counted at each attempt */
  uint64_t bytes;    /* read from storage */
  uint64_t fetch_ns;
  uint64_t prep_ns;
  uint64_t cpu_ns;
  uint64_t threads; /* now */
};

/* EINVAL  a null pointer; ECHILD */
int penstock_loader_get_counters(struct penstock_loader* loader,
                                 struct penstock_loader_counters* counters);

/* Cache hits so far. */
struct penstock_loader_cached {
  size_t size;      /* sizeof(struct penstock_loader_cached), set before */
  uint64_t samples; /* of those prepared and broken; penstock_loader_counters
                       does not contain their bytes */
  uint64_t bytes;
  uint64_t peer_samples; /* of samples, those from other nodes' caches */
  uint64_t peer_bytes;
};

/* Sets the first cached->size bytes of *cached.
 * EINVAL  a null pointer, a wrong size; ECHILD */
int penstock_loader_get_cached(struct penstock_loader* loader,
                               struct penstock_loader_cached* cached);

/* This job's use of its share so far. */
struct penstock_loader_shared {
  size_t size;           /* sizeof(struct penstock_loader_shared), set before */
  uint64_t epoch;        /* of the batch in use, or else of the next one */
  uint64_t used_batches; /* batches taken from the share */
  uint64_t lost_claims;  /* batches begun in vain: taken over by others */
  uint64_t times_out;    /* times the job was out of the share */
  uint64_t alone_batches; /* batches that it prepared alone meanwhile */
};

/* ENOTSUP  the loader has no share
 * EINVAL  a null pointer, a wrong size; ECHILD */
int penstock_loader_get_shared(struct penstock_loader* loader,
                               struct penstock_loader_shared* shared);

/* Checks the requested caches, of this node and of others; 0: no trouble so
 * far. Else returns the first trouble:
 * EACCES, ENOMEM or another error of the system: the cache cannot be opened
 * EIO     no cache: no memory cgroup limits the job, so cache_bytes must be
 *         given, or 1024 processes use the cache
 * EIO     a cache with less than its quota, as memory is short; a damaged
 *         sample, which was read from storage
 * EIO     munge does not answer; another node was late or sent invalid data
 * ENOENT  cache_peers is "auto" outside of a job
 * EINVAL  a null pointer; ECHILD */
int penstock_loader_check_cache(struct penstock_loader* loader);

/* Whether CUDA refused to pin the batches; they are pageable memory then.
 * ENOTSUP  it refused; EINVAL  a null pointer; ECHILD */
int penstock_loader_check_pinned(struct penstock_loader* loader);

/* Stops the threads, waits for them and frees the loader with its batches. No
 * copy from a batch may be in progress, and the CUDA context that pinned them
 * must still exist. Null is allowed. */
void penstock_loader_close(struct penstock_loader* loader);

/* Message of the calling thread's last failed call, for any loader; valid until
 * its next failed call. "" if none failed. */
const char* penstock_loader_error(void);

#ifdef __cplusplus
}
#endif

#endif
