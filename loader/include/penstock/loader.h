/* libpenstock_loader: samples from storage, as batches in memory, for C.
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
 * The stream goes on epoch after epoch without an end. Its order, crops and
 * flips follow from the seed alone, never from the number of threads. Under
 * penstockd the loader follows the job's grant and reports its progress; see
 * penstock.h for what that means.
 *
 * Functions return 0, or a positive errno value; penstock_loader_error() then
 * says what went wrong. No exception leaves them.
 * Threads: any thread may call anything but penstock_loader_close(), which must
 * be the last call on its loader; one at a time calls penstock_loader_next().
 * Signals: the loader's threads take none, and no handler is installed.
 * Fork: in a child its parent's loader only gives ECHILD; close it or not.
 */
#ifndef PENSTOCK_LOADER_H
#define PENSTOCK_LOADER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct penstock_loader; /* a loader */

/* All that has to be kept to go on with an epoch, by any number of ranks. */
struct penstock_loader_state {
  uint64_t count; /* samples of the dataset */
  uint64_t seed;
  uint32_t sequential;
  uint32_t reserved; /* 0 */
  uint64_t epoch;
  uint64_t position; /* of the epoch's order: behind all ranks */
};

/* To train with: a random part of the picture, 8% to 100% of its area, flipped
 * in one case of two. */
#define PENSTOCK_AUGMENT_RANDOM 0
/* To validate with: the centred square whose side is 224/256 of the picture's
 * smaller one, as Resize(256) and CenterCrop(224) leave it. */
#define PENSTOCK_AUGMENT_CENTRE 1

/* What is 0 has the value in brackets. */
struct penstock_loader_options {
  size_t size; /* sizeof(struct penstock_loader_options) */

  /* A folder of pictures; an LMDB database of such; tar shards; or a file of
   * records, each a label of record_label_bytes (0 to 4; little-endian) and a
   * tensor of bytes, behind a header of the file. */
  const char* const* paths;
  size_t path_count;
  uint64_t record_bytes; /* with the label; [no records] */
  uint64_t record_label_bytes;
  uint64_t record_header_bytes;

  uint64_t batch_samples; /* [32] */
  uint64_t crop_side;     /* pixels of a picture's sides [224] */
  uint64_t seed;
  uint64_t ranks;        /* [1] */
  uint64_t rank;         /* < ranks */
  uint64_t threads;      /* [what Slurm gave, then what Penstock grants] */
  uint64_t ring_batches; /* prepared ahead, those in use included [4] */
  uint64_t memory_bytes; /* of ring and threads [unbounded] */
  uint32_t sequential;   /* 1: not shuffled */
  uint32_t drop_tail;    /* 1: an epoch's last samples that are no whole round
                            of all ranks are left out [the round is filled up
                            from the epoch's beginning] */
  uint32_t broken_fatal; /* 1: a broken sample ends the stream [it is left
                            out of its batch] */
  uint32_t augment;      /* of a picture, PENSTOCK_AUGMENT_CENTRE or
                            [PENSTOCK_AUGMENT_RANDOM] */
  uint32_t unordered;    /* 1: an epoch's batches come as they become complete
                            [in the order of the seed] */
  uint32_t direct;       /* 1: read past the page cache */
  uint32_t pinned;       /* 1: batches are pinned memory, from the first
                            penstock_loader_next() on in a thread that has a
                            CUDA context; see penstock_loader_release() */
  uint32_t reserved;     /* 0 */

  const struct penstock_loader_state* from; /* [epoch 0's beginning] */

  /* Called once for each broken sample, in any thread, with a sentence that
   * lives as long as the call. [nobody] */
  void (*broken)(void* context, const char* why);
  void* broken_context;

  /* Samples as they are stored come out of this node's cache of them, which all
   * loaders of the user that read the same data share. Where it cannot be had
   * they are read as ever; see penstock_loader_check_cache(). */
  uint64_t cache_bytes;   /* that this job fills on this node; UINT64_MAX: half
                             of what its memory cgroups leave [no cache] */
  uint64_t cache_keep_s;  /* how long it is kept when nobody uses it any more,
                             at most 604800 */
  const char* cache_name; /* 1 to 64 letters, digits, ".-_" [made from the
                             data] */
  /* Nodes that each keep a part of the data in their caches, this one among
   * them: what is another one's part comes out of that one's memory before
   * storage is read. "auto": the job's; or a list as Slurm writes it,
   * "n[1-4],m7". They know each other by munge. Where they cannot be had, this
   * node's cache is alone; see penstock_loader_check_cache(). */
  const char* cache_peers; /* with cache_bytes [none] */

  /* Batches that jobs of one user on this node prepare together, each once for
   * all that say the same name, data, batch_samples, crop_side, augment, seed
   * and sequential: 1 to 64 letters, digits, ".-_". What srun
   * --loader-share=NAME says is getenv("PENSTOCK_LOADER_SHARE"). Each job has
   * all samples of each of its epochs; who comes later begins with a later one.
   * One batch at a time is in use, and is not to be written to, as all jobs
   * read the same memory. Without ranks, rank, ring_batches, memory_bytes,
   * drop_tail, unordered, pinned and from. */
  const char* share;     /* [the job is alone] */
  uint64_t share_jobs;   /* that begin together: the first batch waits for them,
                            60 s at most; 1 to 64 [1] */
  uint64_t share_window; /* batches that the fastest job may be ahead of the
                            slowest one, as the share's first job has it; 2 to
                            512 [8] */
};

/* Valid until it is released. */
struct penstock_loader_batch {
  float* data;             /* size x sample_floats; pictures: 3 planes; of a
                              share: to be read only */
  const int64_t* labels;   /* size; -1: none */
  const uint64_t* indices; /* size; in the dataset */
  size_t size;             /* good samples; may be 0 where ends_epoch, and with
                              several ranks, which have as many batches each */
  size_t sample_floats;
  uint64_t number;    /* of the batch, from 0 */
  int32_t ends_epoch; /* 1: the epoch's last that comes */
  int32_t is_pinned;  /* 1: a GPU copies from data without the CPU's help */
};

/* Opens the data and starts the threads. On failure *loader is null.
 * EINVAL  a null pointer, a size that is none, an option out of its range, data
 *         of no known format, a state of other data or options, a cache of
 *         other data, nodes that are no list or do not have this one, a share
 *         that prepares something else
 * ENOENT, EACCES, EIO or what the system gave: the data, or the share, cannot
 *         be opened
 * ENOMEM  no memory, also for a share's batches, or memory_bytes are too few;
 *         64 jobs share already
 * EAGAIN  no thread */
int penstock_loader_open(const struct penstock_loader_options* options,
                         struct penstock_loader** loader);

/* Waits up to timeout_ns for the next batch.
 * ETIMEDOUT  there is none yet
 * EDEADLK    there will be none before one that is in use is released: room is
 *            used again in the stream's order, and a share has one in use
 * ECHILD     this process is a child of the loader's
 * EINVAL     a null pointer; a sample that cannot be decoded, with broken_fatal
 *            (of a share: EIO, whoever tried it)
 * ENOENT, EACCES, EIO or what the system gave: a sample that cannot be read,
 *            with broken_fatal; ENOMEM  one that is too large for its memory
 * EIO        as many broken samples in a row as an epoch has
 * What is broken ends the stream: it stays so. */
int penstock_loader_next(struct penstock_loader* loader, uint64_t timeout_ns,
                         struct penstock_loader_batch* batch);

/* Gives a batch's room back, for other samples. No copy from it may be under
 * way any more: of pinned memory one to a GPU goes on after the call that began
 * it (cudaMemcpyAsync), until an event recorded behind it is done.
 * EINVAL  a null pointer, or a batch that is not in use, or another loader's;
 * ECHILD */
int penstock_loader_release(struct penstock_loader* loader,
                            const struct penstock_loader_batch* batch);

/* Where to go on after the batches that were handed out.
 * ENOTSUP  of a share; EINVAL  a null pointer; ECHILD */
int penstock_loader_get_state(struct penstock_loader* loader,
                              struct penstock_loader_state* state);

/* The threads' work so far; times are summed over them. */
struct penstock_loader_counters {
  uint64_t prepared; /* good samples */
  uint64_t broken;   /* broken ones, each time they were */
  uint64_t bytes;    /* read */
  uint64_t fetch_ns;
  uint64_t prep_ns;
  uint64_t cpu_ns;
  uint64_t threads; /* now */
};

/* EINVAL  a null pointer; ECHILD */
int penstock_loader_get_counters(struct penstock_loader* loader,
                                 struct penstock_loader_counters* counters);

/* What came out of the cache so far. */
struct penstock_loader_cached {
  size_t size;      /* sizeof(struct penstock_loader_cached), set before */
  uint64_t samples; /* of those prepared and broken; their bytes are none of
                       struct penstock_loader_counters */
  uint64_t bytes;
  uint64_t peer_samples; /* of samples, those out of other nodes' caches */
  uint64_t peer_bytes;
};

/* Sets as much of it as its size says.
 * EINVAL  a null pointer, a size that is none; ECHILD */
int penstock_loader_get_cached(struct penstock_loader* loader,
                               struct penstock_loader_cached* cached);

/* What this job had of its share so far. */
struct penstock_loader_shared {
  size_t size;           /* sizeof(struct penstock_loader_shared), set before */
  uint64_t epoch;        /* of the batch in use, or else of the next one */
  uint64_t used_batches; /* that the share had for it, whoever prepared them */
  uint64_t lost_claims;  /* batches prepared in vain: taken over by others */
  uint64_t times_out;    /* that it was out of the share */
  uint64_t alone_batches; /* that it prepared for itself then */
};

/* ENOTSUP  the loader is of no share
 * EINVAL  a null pointer, a size that is none; ECHILD */
int penstock_loader_get_shared(struct penstock_loader* loader,
                               struct penstock_loader_shared* shared);

/* Whether the loader has the caches that were asked for, of this node and
 * others, and they do what they may.
 * EACCES, ENOMEM or what the system gave: it has none
 * EIO     none, as no memory cgroup limits the job so that cache_bytes has to
 *         be given, or 1024 processes use it; it is not filled as far as it may
 *         be; a sample was damaged in it, and read from storage; munge does not
 *         answer; another node was late, or said what cannot be right: what was
 *         first
 * ENOENT  cache_peers is "auto", and there is no job
 * EINVAL  a null pointer; ECHILD */
int penstock_loader_check_cache(struct penstock_loader* loader);

/* Whether CUDA has refused to pin the batches, which are pageable memory then.
 * ENOTSUP  it has; EINVAL  a null pointer; ECHILD */
int penstock_loader_check_pinned(struct penstock_loader* loader);

/* Stops the threads, waits for them and frees the loader with its batches, of
 * which no copy may be under way. Pinned ones want the CUDA context that they
 * were pinned in. Null is allowed. */
void penstock_loader_close(struct penstock_loader* loader);

/* What the calling thread's last call that failed says, of any loader; valid
 * until its next one that fails. "" where none did. */
const char* penstock_loader_error(void);

#ifdef __cplusplus
}
#endif

#endif
