// What a job that was put out of its share prepares for itself: the rest of an
// epoch, with a pipeline of its own.
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

// For one thread at a time, but for is_on() and counters(). What it is given
// must outlive it.
class AloneStream {
 public:
  AloneStream(const BatchRecipe& recipe, const SharedOptions& options,
              const PipelineLink& link)
      : recipe_(recipe), options_(options), link_(link) {}

  // From a batch of the share's numbers to the end of its epoch.
  // Errors: those of Pipeline::create()
  [[nodiscard]] Status begin(uint64_t epoch, uint64_t first_batch);
  void end();
  bool is_on() const { return is_on_; }

  // REQUIRES of all of these: is_on().
  Result<std::optional<Batch>> next(uint64_t timeout_ns) {
    return pipeline_->next(timeout_ns);
  }
  void release(const Batch& batch) { pipeline_->release(batch); }
  void stop() { pipeline_->stop(); }

  // Of all that was prepared alone.
  LoaderCounters counters() const;

 private:
  PipelineOptions options_of(uint64_t epoch, uint64_t position) const;

  const BatchRecipe& recipe_;
  const SharedOptions& options_;
  const PipelineLink& link_;
  std::atomic<bool> is_on_{false};
  mutable std::mutex mutex_;  // of who there is to count
  std::unique_ptr<Pipeline> pipeline_;
  LoaderCounters ended_;  // of earlier pipelines
};

}  // namespace penstock
