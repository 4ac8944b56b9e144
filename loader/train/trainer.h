// The training loop: waits for a batch, runs a step, reports progress.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "common/result.h"
#include "libpenstock/include/penstock.h"
#include "loader/train/meeting.h"
#include "loader/train/progress.h"
#include "loader/train/run_delay.h"
#include "loader/train/train_options.h"
#include "penstock/loader/batch_source.h"

namespace penstock {

// The trainer's report to penstockd. follows_hint is set with auto threads.
penstock_progress progress_report(const TrainOptions& options,
                                  const TrainProgress& progress,
                                  const LoaderCounters& loader);

class Trainer {
 public:
  // All references must outlive it. handle may be null; so may meeting, for a
  // single rank.
  Trainer(const TrainOptions& options, BatchSource& loader,
          TrainProgress& progress, penstock_handle* handle, Meeting* meeting,
          const std::atomic<bool>& stop)
      : options_(options),
        loader_(loader),
        progress_(progress),
        handle_(handle),
        meeting_(meeting),
        stop_(stop) {}

  // Runs steps until the end by the options, the end of the data, the end of
  // another rank, or stop.
  // Errors: those of the loader's next()
  [[nodiscard]] Status run();

  uint64_t begin_ns() const { return begin_ns_; }  // CLOCK_MONOTONIC
  uint64_t end_ns() const { return end_ns_; }
  // Wait for data between begin_ns() and end_ns().
  uint64_t wait_ns() const { return progress_.wait_ns() - begin_wait_ns_; }

 private:
  Result<std::optional<Batch>> wait_for_batch();
  Status train();
  Status replay();
  bool over() const;
  bool exchange();  // false: the run is over
  void finish_step(uint64_t begin_ns, size_t samples);
  void report() const;

  const TrainOptions& options_;
  BatchSource& loader_;
  TrainProgress& progress_;
  penstock_handle* handle_;
  Meeting* meeting_;
  const std::atomic<bool>& stop_;
  std::optional<RunDelay> run_delay_;  // of the thread in run()
  uint64_t begin_ns_ = 0;
  uint64_t begin_wait_ns_ = 0;
  uint64_t end_ns_ = 0;
};

}  // namespace penstock
