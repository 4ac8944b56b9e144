// Shared preparation: several jobs of one user on one node prepare each batch
// once for all of them. Each job gets every batch of an epoch once, in the same
// order, and prepares a part of them.
//
//   auto shared = SharedPreparer::create(*dataset, options);
//   while (!(*shared)->finished()) {
//     auto batch = (*shared)->next(1000000000);
//     if (!batch) return batch.error();
//     if (!*batch) continue;  // none within a second
//     train((*batch)->data, (*batch)->labels, (*batch)->size);
//     (*shared)->release(**batch);
//   }
//
// The bits equal those of a Pipeline with the same seed and one rank. Epoch
// numbers are the share's: a job that joins later starts with a later epoch.
//
// The fastest job may be ahead of the slowest by the window. Any job may leave,
// pause or be killed at any moment; other jobs prepare its unfinished batches.
//
// A job that blocks others for longer than StageTimes::patience_ns is expelled:
// it prepares the rest of its epoch alone, and enters again at a later epoch.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "loader/staging/stage_seat.h"
#include "penstock/loader/batch_source.h"
#include "penstock/loader/dataset.h"
#include "penstock/loader/pipeline.h"
#include "penstock/result.h"

namespace penstock {

// The data set and what a batch contains (batch_samples to shuffle) must be
// equal in all jobs of a share. Broken samples are left out of their batch for
// all jobs. The threads are those of this job.
struct SharedOptions : BatchOptions {
  // Of the share: 1 to 64 letters, digits and ".-_", no leading dot.
  std::string name;
  uint64_t epochs = 0;  // for this job, at most 2^20; 0: unlimited
  // Number of jobs that start together, 1 to 64. The share's first batch waits
  // for them, at most StageTimes::gather_ns. Others enter at a later epoch.
  uint64_t jobs = 1;
  // The share has its first job's values of these two.
  // Batches that are prepared or kept, from the slowest job's on: 2 to 512.
  uint32_t window_batches = 8;
  // Further buffers, 1 to 512, for use while a job that was expelled or lost
  // its claim still reads or writes one.
  uint32_t spare_batches = 4;
  StageTimes times;
};

struct ShareCounters {
  uint64_t used_batches = 0;   // batches taken from the share
  uint64_t lost_claims = 0;    // batches begun in vain: claim taken over
  uint64_t times_out = 0;      // times the job found itself out of the share
  uint64_t alone_batches = 0;  // batches prepared alone
};

// At most one batch is in use at a time. Not usable in a forked process.
class SharedPreparer : public BatchSource {
 public:
  // Joins the share, or creates it, and starts the threads. link.broken is
  // called only for samples that this job prepares.
  // Errors: kInvalidArgument  an option out of its range; the share of that
  //         name prepares something else
  //         kLimit  no memory for the window; the share has 64 jobs; no thread
  //         could be started
  //         kPermissionDenied, kUnavailable, kIo  as StageFile::join()
  [[nodiscard]] static Result<std::unique_ptr<SharedPreparer>> create(
      std::shared_ptr<const Dataset> dataset, const SharedOptions& options,
      PipelineLink link = {});
  // The destructor leaves the share. A batch in use becomes invalid.
  //
  // next(): the job's next batch, a view of memory that all jobs read. It is
  // valid until release(), even if the job is expelled meanwhile. Batches
  // without a good sample are skipped, except those that end an epoch.
  // Errors: kIo  all samples of an epoch are broken; later calls fail alike
  //         kIo  BrokenSamples::kFatal, and a sample of the batch is broken
  //         those of Pipeline::create(), if the job goes on alone
  //
  // stop(): other jobs no longer wait for this one.
  // finished(): all epochs were handed out.
  // counters(): work of this job's threads, alone and for the share.

  // The epoch of the next batch.
  virtual uint64_t epoch() const = 0;
  virtual bool is_alone() const = 0;
  virtual uint64_t samples_per_epoch() const = 0;
  virtual ShareCounters share() const = 0;  // thread-safe
};

}  // namespace penstock
