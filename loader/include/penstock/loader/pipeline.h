// Loads samples into batches: fetches, decodes and augments them.
//
//   auto dataset = open_folder("/data/train");
//   auto pipeline = Pipeline::create(*dataset, options, {});
//   while (!(*pipeline)->finished()) {
//     auto batch = (*pipeline)->next(1000000000);
//     if (!batch) return batch.error();
//     if (!*batch) continue;  // none within a second
//     train((*batch)->data, (*batch)->labels, (*batch)->size);
//     (*pipeline)->release(**batch);
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "penstock/loader/augment.h"
#include "penstock/loader/batch.h"
#include "penstock/loader/batch_source.h"
#include "penstock/loader/dataset.h"
#include "penstock/loader/feed.h"
#include "penstock/loader/read_mode.h"
#include "penstock/loader/sampler.h"
#include "penstock/result.h"

namespace penstock {

// Handling of unreadable or undecodable samples. They are counted and reported
// either way.
enum class BrokenSamples {
  kSkip,   // the sample is left out of its batch
  kFatal,  // its batch is an error that ends the stream
};

// What a pipeline and a share (loader/staging/) have in common.
struct BatchOptions {
  size_t batch_samples = 32;  // 1 to 65536
  int crop_side = 224;  // side of a prepared picture in pixels, 1 to 4096;
                        // ignored for tensors
  Augment augment = Augment::kRandom;  // of pictures

  // Order, crops and flips depend on the seed alone.
  uint64_t seed = 0;
  bool shuffle = true;

  BrokenSamples broken = BrokenSamples::kSkip;
  ReadMode read_mode = ReadMode::kBuffered;

  size_t threads = 1;      // at the start
  size_t threads_min = 1;  // of the elastic pool
  size_t threads_max = 1;  // up to 4096; memory_bytes may lower it if elastic
  bool elastic = false;    // follow the hint's number of threads
};

struct PipelineOptions : BatchOptions {
  uint64_t ranks = 1;  // see sampler.h
  uint64_t rank = 0;
  EpochTail tail = EpochTail::kPad;
  std::optional<SamplerState> from;  // start; nullopt: of epoch 0

  uint64_t total_samples = UINT64_MAX;  // of this rank's stream, over all
                                        // epochs, including broken ones
  bool spans_epochs = false;  // false: each epoch's last batch may be short
  bool is_ordered = true;     // false: an epoch's batches come as they become
                              // complete, at most ring_batches early

  size_t ring_batches = 4;    // 1 to 1024; raised for many threads, lowered (to
                              // at least two) for memory_bytes
  bool pinned = false;        // pin the ring, at the first next() in a thread
                              // with a CUDA context; see Pipeline::release()
  uint64_t memory_bytes = 0;  // limit, see Pipeline; 0: none
};

// Limits for the pipeline, from libpenstock's hint page.
struct PipelineHint {
  size_t threads = 1;             // that can run at once
  uint64_t rate_bytes_per_s = 0;  // limit on reads from storage; 0: none
};

// The pipeline's callbacks. Every function may be empty.
struct PipelineLink {
  // Called 20 times a second. The pipeline follows a change within 100 ms; a
  // surplus thread finishes its sample first. nullopt: no hint.
  std::function<std::optional<PipelineHint>()> hint;
  // Called in each loader thread when it starts (true) and ends (false).
  std::function<void(bool starts)> thread;
  // Called once for each broken sample of the dataset, in any thread.
  std::function<void(const std::string& why)> broken;
};

// Loader threads fill a ring of batches, sample by sample; a stalled thread
// delays one sample. A batch's contents depend on the dataset and the options,
// never on the number of threads or CPUs.
//
// Memory: the ring (batches x samples x floats, and 17 bytes per sample) and,
// for each thread, the largest file and picture so far.
//
// memory_bytes limits that. The ring gets at most half, if that holds two
// batches; each thread gets a share of the rest. A sample is broken if its
// file, its decoded picture, or libjpeg's memory for a progressive picture
// exceeds a third of a share.
//
// Shares are equal parts for threads_max threads. With elastic threads a share
// is a sixteenth, but at least 16 MiB, or all if there is less; at most as many
// threads run as there are shares. So threads_max, which may be the number of
// CPUs, does not decide which samples are too large.
//
// Not counted: rows in work in the decoder libraries and the resampler (there
// at most 192 bytes per column of the crop), thread stacks, the dataset's
// index.
class Pipeline : public BatchSource {
 public:
  // Starts the threads.
  // Errors: kInvalidArgument  an option out of its range, or a ring over 64 GB;
  //                           those of EpochSampler
  //         kLimit            memory_bytes below two batches and 1 MiB per
  //                           thread; no memory; no thread could be started
  [[nodiscard]] static Result<std::unique_ptr<Pipeline>> create(
      std::shared_ptr<const Dataset> dataset, const PipelineOptions& options,
      PipelineLink link);
  // The destructor calls stop(). No batch may be in use then.
  //
  // For one thread at a time, except counters().
  //
  // next(): several batches may be in use. Batches without a good sample are
  // skipped, except those that end an epoch. With several ranks none is
  // skipped, so that all have as many batches.
  // Errors: kIo  as many samples in a row as an epoch has were broken; the
  //         message names the last
  //         with BrokenSamples::kFatal: that of a broken sample in the batch
  //
  // release() REQUIRES also: no copy from the batch is in progress. A copy from
  // pinned memory to a GPU may continue after the call that started it.

  // CUDA's error message if it refused to pin the ring, which then stays
  // pageable; else empty.
  virtual const std::string& pin_refusal() const = 0;

  // Where to resume: after the batches that were handed out or skipped. If
  // unordered: after the batches before the first that was not handed out. No
  // sample is lost; some may repeat.
  virtual SamplerState state() const = 0;
  // Of this rank.
  virtual uint64_t samples_per_epoch() const = 0;

  // Switches to the samples of `feed` at a later batch, and returns its number.
  // state() ignores feeds.
  virtual uint64_t set_feed(const Feed& feed) = 0;
  // The dataset indices of a feed with subset_samples == samples.
  virtual std::vector<uint64_t> subset(uint64_t samples) const = 0;
};

}  // namespace penstock
