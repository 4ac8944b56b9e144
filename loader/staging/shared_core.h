// Implementation of SharedPreparer: the job's seat, its threads and its private
// pipeline.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "loader/pipeline/control_thread.h"
#include "loader/pipeline/elastic_pool.h"
#include "loader/staging/alone_stream.h"
#include "loader/staging/batch_preparer.h"
#include "loader/staging/shared_preparer.h"
#include "loader/staging/stage_claims.h"
#include "loader/staging/stage_file.h"
#include "loader/staging/stage_seat.h"
#include "penstock/loader/pipeline.h"

namespace penstock {

class SharedCore final : public SharedPreparer {
 public:
  SharedCore(std::unique_ptr<StageFile> file, BatchRecipe recipe,
             const SharedOptions& options, PipelineLink link);
  ~SharedCore() override;
  SharedCore(const SharedCore&) = delete;
  SharedCore& operator=(const SharedCore&) = delete;

  // Throws std::system_error if the control thread cannot be started.
  // Errors: kLimit  the share has 64 jobs; no loader thread could be started
  Status start();

  void stop() override;
  Result<std::optional<Batch>> next(uint64_t timeout_ns) override;
  void release(const Batch& batch) override;
  bool finished() const override {
    return options_.epochs > 0 && epochs_handed_ == options_.epochs;
  }
  uint64_t epoch() const override {
    return (alone_.is_on() ? alone_first_ : seat_.next()) / per_epoch();
  }
  bool is_held_up() const override { return in_use_.has_value(); }
  bool is_alone() const override { return alone_.is_on(); }
  uint64_t samples_per_epoch() const override {
    return recipe_.dataset->size();
  }
  LoaderCounters counters() const override;
  ShareCounters share() const override;

 private:
  void prepare_batches(const ElasticPool::Wanted& wanted);
  bool may_claim(uint64_t now_ns);
  void prepare(const StageClaim& claim, BatchPreparer& preparer);
  Result<std::optional<Batch>> next_shared(uint64_t timeout_ns);
  Result<std::optional<Batch>> next_alone(uint64_t timeout_ns);
  Result<std::optional<Batch>> use(uint32_t buffer);
  std::optional<Error> error_of(const Batch& batch, uint64_t samples);
  Error end_by(Error why);
  void name_broken(uint64_t index, const std::string& why);
  Status go_on_without_share();
  void follow_hint();
  void enter(uint64_t epoch);
  std::optional<Batch> hand_out(Batch batch);
  Status skip_empty(uint64_t samples);
  void look_around();
  void shut();
  uint64_t per_epoch() const { return file_->shape().batches_per_epoch; }

  const SharedOptions options_;
  const std::unique_ptr<StageFile> file_;
  const BatchRecipe recipe_;
  const PipelineLink link_;
  const BatchPreparer::Broken broken_;
  const uint64_t began_ns_;
  const StageJobs jobs_;
  OverdueClaims overdue_;
  StageClaims claims_;
  StageSeat seat_;
  TokenBucket bucket_;
  SampleCounters counters_;
  std::atomic<uint64_t> used_batches_ = 0;
  std::atomic<uint64_t> lost_claims_ = 0;
  std::atomic<uint64_t> times_out_ = 0;
  std::atomic<uint64_t> alone_batches_ = 0;

  // Only for the thread that calls next(), except alone_.is_on() and
  // alone_.counters().
  AloneStream alone_;
  uint64_t alone_first_ = 0;     // the share's batch at which alone_ began
  bool has_waited_ = false;      // the share's next batch was not ready
  std::optional<Batch> in_use_;  // with its number in the share or pipeline
  uint64_t handed_ = 0;          // batches handed out or skipped
  uint64_t epochs_handed_ = 0;
  uint64_t empty_samples_ = 0;  // in consecutive batches without a good one
  std::optional<Error> ended_by_;
  uint64_t looked_ns_ = 0;

  std::mutex broken_mutex_;
  std::set<uint64_t> named_;

  std::atomic<bool> has_gathered_ = false;
  std::atomic<bool> stopping_ = false;
  ElasticPool pool_;
  ControlThread control_;
};

}  // namespace penstock
