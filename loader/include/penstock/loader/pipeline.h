// Samples from storage into batches: fetched, decoded, augmented.
//
//   auto dataset = open_folder("/data/train");
//   auto pipeline = Pipeline::create(*dataset, {.batch_samples = 64}, {});
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

// What becomes of a sample that cannot be read or decoded. It is counted and
// named either way.
enum class BrokenSamples {
  kSkip,   // it is left out of its batch
  kFatal,  // its batch is an error, and the stream's end
};

struct PipelineOptions {
  size_t batch_samples = 32;  // 1 to 65536
  int crop_side = 224;  // pixels of a prepared picture's sides, 1 to 4096;
                        // tensors stay what they are
  Augment augment = Augment::kRandom;  // of pictures

  // Order, crops and flips follow from the seed alone.
  uint64_t seed = 0;
  bool shuffle = true;
  uint64_t ranks = 1;  // see sampler.h
  uint64_t rank = 0;
  EpochTail tail = EpochTail::kPad;
  std::optional<SamplerState> from;  // nullopt: epoch 0's beginning

  uint64_t total_samples = UINT64_MAX;  // of this rank's stream, broken ones
                                        // included; epoch after epoch
  bool spans_epochs = false;  // batches do; else each epoch's last one is short
  bool is_ordered = true;     // else an epoch's batches come as they become
                              // complete, at most the ring's batches early
  BrokenSamples broken = BrokenSamples::kSkip;

  ReadMode read_mode = ReadMode::kBuffered;
  size_t ring_batches = 4;  // 1 to 1024; more where the threads need it, fewer
                            // (but two) where memory_bytes says so
  bool pinned = false;      // the ring is, from the first next() on in a thread
                            // that has a CUDA context; see Pipeline::release()
  uint64_t memory_bytes = 0;  // see Pipeline; 0: no bound

  size_t threads = 1;      // at the start
  size_t threads_min = 1;  // of the elastic pool
  size_t threads_max = 1;  // up to 4096; elastic: fewer where memory_bytes
                           // says so
  bool elastic = false;    // follow the hint's number of threads
};

// What the pipeline follows; libpenstock's hint page fills it.
struct PipelineHint {
  size_t threads = 1;             // how many can run at once
  uint64_t rate_bytes_per_s = 0;  // what it has to keep itself; 0: none
};

// What the pipeline needs from outside. Every function may be empty.
struct PipelineLink {
  // Asked 20 times a second, and followed within 100 ms, but that a thread
  // finishes its sample first; nullopt: nothing to follow.
  std::function<std::optional<PipelineHint>()> hint;
  // Called in each loader thread when it starts (true) and ends (false).
  std::function<void(bool starts)> thread;
  // Called once for each broken sample, in any thread.
  std::function<void(const std::string& why)> broken;
};

// Loader threads fill a ring of batches, sample by sample; a thread that stands
// still holds up one sample. What is in a batch depends on the dataset and the
// options, never on how many threads run or on the machine's CPUs.
//
// Memory is the ring (batches x samples x floats, and 17 bytes per sample) and,
// per thread, the largest file and picture so far. With memory_bytes they stay
// within it: the ring gets at most half where that holds two batches, each
// thread has a share of the rest, and a sample of which the file, the decoded
// picture or what libjpeg keeps of a progressive one takes over a third of that
// share is a broken one. Shares are equal parts for threads_max threads.
// Elastic threads have a sixteenth each, but at least 16 MiB, or all that there
// is; there are never more threads than shares, so that threads_max, which may
// be the machine's CPUs, does not decide which samples are too large. Not
// counted are the rows that the decoder libraries and the resampler work on (of
// the latter at most 192 bytes for each of the crop's columns), threads' stacks
// and the dataset's index.
class Pipeline : public BatchSource {
 public:
  // Starts the threads.
  // Errors: kInvalidArgument  an option out of its range, or a ring over 64 GB;
  //                           those of EpochSampler
  //         kLimit            memory_bytes too few for two batches and 1 MiB
  //                           per thread; no memory; no thread started
  [[nodiscard]] static Result<std::unique_ptr<Pipeline>> create(
      std::shared_ptr<const Dataset> dataset, const PipelineOptions& options,
      PipelineLink link);
  // As stop(). No batch may be in use any more.
  ~Pipeline() override;
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // For one thread at a time, all but counters().

  // The next batch; nullopt after timeout_ns without one, or somewhat earlier,
  // and at the stream's end (finished()). Batches without a good sample are
  // passed over, but for those that end an epoch and, so that all ranks have
  // the same number of batches, where there are several ranks. Several may be
  // in use. Errors: kIo  as many samples in a row as an epoch has were broken;
  // the
  //              message names the last
  //         with BrokenSamples::kFatal that of a broken sample in the batch
  [[nodiscard]] Result<std::optional<Batch>> next(uint64_t timeout_ns) override;
  // Gives a batch's room back. REQUIRES: it came from next(), and was not
  // released yet; no copy from it is under way. Of pinned memory one to a GPU
  // goes on when the call that began it has returned.
  void release(const Batch& batch) override;
  // Stops the threads and waits for them; batches in use stay valid. next()
  // must not be called any more.
  void stop() override;
  // Every batch of the stream was handed out.
  bool finished() const override;
  // next() gives none before one that is in use is released.
  bool is_held_up() const override;

  // What CUDA said where it refused to pin the ring, which stays pageable then;
  // empty: it did not.
  const std::string& pin_refusal() const;

  // Where to go on after the batches that were handed out, those passed over
  // included. Without order: after those before the first that was not handed
  // out. No sample is lost; some may come again.
  SamplerState state() const;
  // Of this rank.
  uint64_t samples_per_epoch() const;

  // From a batch on, whose number it returns, the samples are those of feed;
  // batches before it are as they were. state() knows nothing of feeds.
  uint64_t set_feed(const Feed& feed);
  // The samples of the subset that a feed of so many reads.
  std::vector<uint64_t> subset(uint64_t samples) const;

  LoaderCounters counters() const override;  // thread-safe

 private:
  explicit Pipeline(std::unique_ptr<class PipelineCore> core);

  std::unique_ptr<PipelineCore> core_;
};

}  // namespace penstock
