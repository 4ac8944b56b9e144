// Implementation of Pipeline: threads, ring and counters.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/result.h"
#include "loader/pipeline/batch_ring.h"
#include "loader/pipeline/control_thread.h"
#include "loader/pipeline/elastic_pool.h"
#include "loader/pipeline/feed_plan.h"
#include "loader/pipeline/pipeline_shape.h"
#include "loader/pipeline/sample_counters.h"
#include "loader/pipeline/sample_preparer.h"
#include "loader/pipeline/token_bucket.h"
#include "penstock/loader/pipeline.h"

namespace penstock {

class PipelineCore final : public Pipeline {
 public:
  PipelineCore(std::shared_ptr<const Dataset> dataset,
               const PipelineOptions& options, const EpochSampler& sampler,
               const PipelineShape& shape, PipelineLink link);
  ~PipelineCore() override { stop(); }
  PipelineCore(const PipelineCore&) = delete;
  PipelineCore& operator=(const PipelineCore&) = delete;

  // Starts the threads. Throws std::system_error if the control thread cannot
  // be created.
  // Errors: kLimit  no loader thread could be started
  Status start();

  void stop() override;
  Result<std::optional<Batch>> next(uint64_t timeout_ns) override;
  void release(const Batch& batch) override { ring_.release(batch); }
  bool finished() const override { return ring_.finished(); }
  bool is_held_up() const override { return !finished() && !ring_.has_room(); }
  const std::string& pin_refusal() const override {
    return ring_.pin_refusal();
  }
  SamplerState state() const override;
  uint64_t samples_per_epoch() const override {
    return sampler_.samples_per_epoch();
  }
  uint64_t set_feed(const Feed& feed) override;
  std::vector<uint64_t> subset(uint64_t samples) const override;
  LoaderCounters counters() const override;

 private:
  void run_thread(const ElasticPool::Wanted& wanted);
  void prepare_place(std::unique_ptr<SamplePreparer>& preparer,
                     const BatchRing::Place& place);
  Status prepare(std::unique_ptr<SamplePreparer>& preparer, uint64_t position,
                 uint64_t& index, float* out, SampleFacts& facts);
  Feed feed_at(uint64_t position);
  void name_broken(const BatchRing::Place& place, uint64_t index, Error why);
  std::optional<Error> error_of(const Batch& batch);
  void follow_hint();

  const std::shared_ptr<const Dataset> dataset_;
  const PipelineOptions options_;
  const size_t threads_max_;
  const PipelineLink link_;
  const EpochSampler sampler_;
  const uint64_t thread_bytes_;
  TokenBucket bucket_;
  BatchRing ring_;

  std::atomic<bool> has_feeds_{false};
  std::mutex feeds_mutex_;
  FeedPlan feeds_;

  SampleCounters counters_;

  std::mutex broken_mutex_;  // guards the next three; only for broken samples
  std::set<uint64_t> named_;
  std::string last_broken_;
  std::map<uint64_t, Error> fatal_;  // by position; BrokenSamples::kFatal only
  std::optional<Error> ended_by_;    // only for the trainer side
  uint64_t empty_samples_ = 0;  // in consecutive batches without a good one

  std::atomic<bool> is_started_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> all_claimed_{false};
  ElasticPool pool_;
  ControlThread control_;
};

}  // namespace penstock
