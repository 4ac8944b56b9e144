// A pipeline in a program that is not ours: it does for Penstock what
// penstock-train does, and tells the program's mistakes instead of hanging.
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
#include "loader/penstock_link.h"
#include "loader/staging/shared_preparer.h"
#include "penstock/loader/pipeline.h"

namespace penstock {

struct JobLoaderOptions {
  PipelineOptions pipeline;  // its threads are chosen here
  size_t threads = 0;        // 0: what Slurm gave, then what the hint says
  std::function<void(const std::string& why)> broken;  // as PipelineLink's
};

// Of the jobs that prepare together: see SharedOptions.
struct JobShare {
  std::string name;
  uint64_t jobs = 1;
  uint32_t window_batches = 8;
};

// The destructor wants no batch to be in use, as Pipeline's; in a forked
// process, which has no loader threads, it frees nothing.
class JobLoader {
 public:
  // The loader's threads get no signal: the program's own do.
  // Errors: those of Pipeline::create
  [[nodiscard]] static Result<std::unique_ptr<JobLoader>> open(
      std::shared_ptr<const Dataset> dataset, JobLoaderOptions options);
  // The same out of a share, as far as it knows the pipeline's options: see
  // shared_options().
  // Errors: those of SharedPreparer::create()
  [[nodiscard]] static Result<std::unique_ptr<JobLoader>> join(
      std::shared_ptr<const Dataset> dataset, const JobShare& share,
      JobLoaderOptions options);
  ~JobLoader();
  JobLoader(const JobLoader&) = delete;
  JobLoader& operator=(const JobLoader&) = delete;

  // Any thread may call any of these, one at a time calls next(). They report
  // to Penstock in the course of it.

  // As Pipeline::next(). What was handed out before counts as trained with.
  // Errors: those of Pipeline::next(); kUnavailable  is_forked(), or stopped
  [[nodiscard]] Result<std::optional<Batch>> next(uint64_t timeout_ns);
  // The batch that was handed out last has been trained with; for programs that
  // do not ask for another one soon.
  void end_step();
  // Ends the threads and the connection to Penstock; batches in use stay valid.
  void stop();
  // As Pipeline::release(), but never waits for a next() in another thread.
  // Errors: kInvalidArgument  it is not in use, or another loader's
  //         kUnavailable  is_forked()
  [[nodiscard]] Status release(const Batch& batch);

  // As Pipeline's; REQUIRES: !is_forked().
  bool is_held_up();
  uint64_t samples_per_epoch() const;
  // Of the next batch; of a share, of the one that is in use where one is.
  uint64_t epoch();
  LoaderCounters counters() const;
  // REQUIRES: !is_shared(), too
  std::string pin_refusal();
  SamplerState state();
  // REQUIRES: is_shared(), too
  ShareCounters share() const;

  // This is a child of the process that opened the loader.
  bool is_forked() const;
  // One batch at a time is in use then, which others may wait for.
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

  std::mutex pipeline_mutex_;  // the pipeline's trainer side, and these
  size_t unfinished_ = 0;      // samples of the step under way
  bool has_step_ = false;
  bool is_stopped_ = false;
  uint64_t samples_ = 0;
  uint64_t steps_ = 0;
  uint64_t wait_ns_ = 0;

  std::mutex held_mutex_;  // taken last, and for moments only
  std::map<uint64_t, Batch> held_;
  std::vector<Batch> returned_;  // not yet the pipeline's again
};

}  // namespace penstock
