// The private pipeline of a job that was expelled from its share: it prepares
// the rest of the epoch.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "loader/staging/batch_preparer.h"
#include "loader/staging/shared_preparer.h"
#include "penstock/loader/pipeline.h"

namespace penstock {

// For one thread at a time, except is_on() and counters(), which are
// thread-safe. The constructor's arguments must outlive it.
class AloneStream {
 public:
  AloneStream(const BatchRecipe& recipe, const SharedOptions& options,
              const PipelineLink& link)
      : recipe_(recipe), options_(options), link_(link) {}

  // Starts a pipeline at batch `first_batch` of epoch `epoch` of the share; it
  // ends with that epoch. first_batch counts from the epoch's start.
  // Errors: those of Pipeline::create()
  [[nodiscard]] Status begin(uint64_t epoch, uint64_t first_batch);
  void end();  // REQUIRES: is_on()
  bool is_on() const { return is_on_; }

  // REQUIRES of next(), release() and stop(): is_on().
  Result<std::optional<Batch>> next(uint64_t timeout_ns) {
    return pipeline_->next(timeout_ns);
  }
  void release(const Batch& batch) { pipeline_->release(batch); }
  void stop() { pipeline_->stop(); }

  // Sums over all private pipelines so far.
  LoaderCounters counters() const;

 private:
  PipelineOptions options_of(uint64_t epoch, uint64_t position) const;

  const BatchRecipe& recipe_;
  const SharedOptions& options_;
  const PipelineLink& link_;
  std::atomic<bool> is_on_{false};
  mutable std::mutex mutex_;  // counters() against begin() and end()
  std::unique_ptr<Pipeline> pipeline_;
  LoaderCounters ended_;  // sums of earlier pipelines
};

}  // namespace penstock
