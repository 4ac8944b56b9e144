// A pipeline for other programs. It reports to Penstock as penstock-train does,
// and returns an error for misuse instead of hanging.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "loader/api/penstock_link.h"
#include "loader/staging/shared_preparer.h"
#include "penstock/loader/pipeline.h"

namespace penstock {

struct JobLoaderOptions {
  PipelineOptions pipeline;  // JobLoader sets its threads
  size_t threads = 0;        // 0: at first Slurm's number, then the hint's
  std::function<void(const std::string& why)> broken;  // see PipelineLink
};

// See SharedOptions.
struct JobShare {
  std::string name;
  uint64_t jobs = 1;
  uint32_t window_batches = 8;
};

// The destructor requires that no batch is in use, as Pipeline's does. In a
// forked process, which has no loader threads, it frees nothing.
class JobLoader {
 public:
  // The loader's threads block all signals, for the program's own threads.
  // Errors: those of Pipeline::create()
  [[nodiscard]] static Result<std::unique_ptr<JobLoader>> open(
      std::shared_ptr<const Dataset> dataset, JobLoaderOptions options);
  // The same with a share as the source of batches. Uses only the BatchOptions
  // of the pipeline's options.
  // Errors: those of SharedPreparer::create()
  [[nodiscard]] static Result<std::unique_ptr<JobLoader>> join(
      std::shared_ptr<const Dataset> dataset, const JobShare& share,
      JobLoaderOptions options);
  ~JobLoader();
  JobLoader(const JobLoader&) = delete;
  JobLoader& operator=(const JobLoader&) = delete;

  // The functions below are thread-safe; one thread at a time may call next().
  // Some also report to Penstock.

  // As Pipeline::next(). Counts the step of the previous batch as finished.
  // Errors: those of Pipeline::next(); kUnavailable  is_forked(), or stopped
  [[nodiscard]] Result<std::optional<Batch>> next(uint64_t timeout_ns);
  // Counts the step of the last batch as finished; for programs that will not
  // call next() soon.
  void end_step();
  // Ends the threads and the connection to Penstock; batches in use stay valid.
  void stop();
  // As Pipeline::release(), but never waits for a next() in another thread.
  // Errors: kInvalidArgument  not in use, or another loader's batch
  //         kUnavailable  is_forked()
  [[nodiscard]] Status release(const Batch& batch);

  // See Pipeline. REQUIRES: !is_forked().
  bool is_held_up();
  uint64_t samples_per_epoch() const;
  // Of the next batch; with a share, of the batch in use if there is one.
  uint64_t epoch();
  LoaderCounters counters() const;
  // Also REQUIRES: !is_shared().
  std::string pin_refusal();
  SamplerState state();
  // Also REQUIRES: is_shared().
  ShareCounters share() const;

  // Whether this is a child of the process that opened the loader.
  bool is_forked() const;
  // Then one batch at a time is in use, and other jobs may wait for it.
  bool is_shared() const { return share_ != nullptr; }

 private:
  explicit JobLoader(bool follows_hint);
  Result<std::optional<Batch>> next_within(uint64_t timeout_ns);
  void count_step();
  void report();
  void take_back();
  void take_back_if_free();

  const pid_t pid_;
  const bool follows_hint_;
  PenstockHandle handle_;
  std::unique_ptr<BatchSource> source_;
  Pipeline* pipeline_ = nullptr;  // one of these two is the source
  SharedPreparer* share_ = nullptr;

  std::mutex pipeline_mutex_;  // guards the source's trainer side, and these
  size_t unfinished_ = 0;      // samples of the step in progress
  bool has_step_ = false;
  bool is_stopped_ = false;
  uint64_t samples_ = 0;
  uint64_t steps_ = 0;
  uint64_t wait_ns_ = 0;

  std::mutex held_mutex_;  // taken after pipeline_mutex_, and briefly
  std::map<uint64_t, Batch> held_;
  std::vector<Batch> returned_;  // released, but not passed to the source yet
};

}  // namespace penstock
