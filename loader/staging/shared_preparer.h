// Batches that several jobs of a user on a node prepare once for all of them:
// each job has every batch of an epoch once, in the same order, and prepares a
// part of them.
//
//   auto shared = SharedPreparer::create(*dataset, {.name = "search"});
//   while (!(*shared)->finished()) {
//     auto batch = (*shared)->next(1000000000);
//     if (!batch) return batch.error();
//     if (!*batch) continue;  // none within a second
//     train((*batch)->data, (*batch)->labels, (*batch)->size);
//     (*shared)->release(**batch);
//   }
//
// The bits are those of a Pipeline of the same seed with one rank, whose
// epochs' numbers are the share's: who comes later begins with a later one.
//
// Jobs may differ in speed by the window. Any may leave, pause or be killed at
// any moment; what it was preparing others prepare. One that holds up the
// others for longer than StageTimes::patience_ns is put out: it prepares what
// is left of its epoch by itself, and comes in again with a later epoch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "loader/staging/stage_seat.h"
#include "penstock/loader/augment.h"
#include "penstock/loader/batch_source.h"
#include "penstock/loader/dataset.h"
#include "penstock/loader/pipeline.h"
#include "penstock/loader/read_mode.h"
#include "penstock/result.h"

namespace penstock {

struct SharedOptions {
  std::string name;  // of the share: 1 to 64 letters, digits, ".-_"
  // What all jobs of a share must have alike, and the data set.
  size_t batch_samples = 32;  // 1 to 65536
  int crop_side = 224;        // 1 to 4096
  Augment augment = Augment::kRandom;
  uint64_t seed = 0;
  bool shuffle = true;

  uint64_t epochs = 0;  // that this job wants, to 2^20; 0: without an end
  // How many jobs are to begin together: the share's first batch waits for
  // them, for StageTimes::gather_ns. Others come in with a later epoch.
  uint64_t jobs = 1;
  // Of the share, as its first job has them: batches from the slowest job on, 2
  // to 512, and how many more get memory where one is still read or written by
  // a job that was given up, 1 to 512.
  uint32_t window_batches = 8;
  uint32_t spare_batches = 4;

  // Of this job, that prepare: as PipelineOptions'.
  size_t threads = 1;
  size_t threads_min = 1;
  size_t threads_max = 1;
  bool elastic = false;

  // Broken samples are left out of their batch for all jobs.
  BrokenSamples broken = BrokenSamples::kSkip;
  ReadMode read_mode = ReadMode::kBuffered;
  StageTimes times;
};

// Of a share whose batches are such a pipeline's, prepared by as many threads;
// what a pipeline has not is left to be set. Ranks, feeds, rings and memory are
// not a share's.
SharedOptions shared_options(const PipelineOptions& same);

struct ShareCounters {
  uint64_t used_batches = 0;   // that the share had for this job
  uint64_t lost_claims = 0;    // batches prepared in vain: taken over by others
  uint64_t times_out = 0;      // that it went on alone
  uint64_t alone_batches = 0;  // that it prepared for itself
};

// One batch at a time is in use. Not to be used in a forked process.
class SharedPreparer : public BatchSource {
 public:
  // Joins the share, or makes it, and starts the threads.
  // Errors: kInvalidArgument  an option out of its range; the share of that
  //         name prepares something else
  //         kLimit  no memory for the window; 64 jobs share it; no thread
  //         kPermissionDenied, kUnavailable, kIo  as StageFile::join()
  // link: what it needs from outside; `broken` is called for the samples that
  // this job prepares.
  [[nodiscard]] static Result<std::unique_ptr<SharedPreparer>> create(
      std::shared_ptr<const Dataset> dataset, const SharedOptions& options,
      PipelineLink link = {});
  // Leaves the share. A batch that is in use is no longer valid.
  ~SharedPreparer() override;
  SharedPreparer(const SharedPreparer&) = delete;
  SharedPreparer& operator=(const SharedPreparer&) = delete;

  // The job's next batch, a view of memory that all jobs read. Valid until
  // release(), also where the job is put out meanwhile; batches without a good
  // sample are passed over, but for those that end an epoch.
  // Errors: kIo  all samples of an epoch are broken; it stays so
  //         kIo  a sample of the batch is broken, with BrokenSamples::kFatal
  //         those of Pipeline::create(), where the job goes on alone
  [[nodiscard]] Result<std::optional<Batch>> next(uint64_t timeout_ns) override;
  void release(const Batch& batch) override;
  // The others go on without this job.
  void stop() override;
  bool finished() const override;  // all epochs
  bool is_held_up() const override;
  // The epoch of the next batch.
  uint64_t epoch() const;
  bool is_alone() const;
  uint64_t samples_per_epoch() const;

  // What this job's threads did, alone or for all.
  LoaderCounters counters() const override;
  ShareCounters share() const;  // thread-safe

 private:
  explicit SharedPreparer(std::unique_ptr<class SharedCore> core);

  std::unique_ptr<class SharedCore> core_;
};

}  // namespace penstock
