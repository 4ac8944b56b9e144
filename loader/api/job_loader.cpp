#include "loader/api/job_loader.h"

#include <unistd.h>

#include <algorithm>

#include "common/blocked_thread.h"
#include "common/clock.h"
#include "loader/pipeline/sample_counters.h"
#include "loader/pipeline/thread_choice.h"

namespace penstock {
namespace {

// Interval at which a waiting next() reports and passes on released batches.
constexpr uint64_t kSlice_ns = 100000000;

Error forked(pid_t owner) {
  return {Code::kUnavailable, ECHILD,
          "the loader's threads are in process " + std::to_string(owner) +
              ", which opened it and was forked; open it in the process that "
              "uses it"};
}

}  // namespace

JobLoader::JobLoader(bool follows_hint)
    : pid_(::getpid()),
      follows_hint_(follows_hint),
      handle_(penstock_open(nullptr)) {}

Result<std::unique_ptr<JobLoader>> JobLoader::open(
    std::shared_ptr<const Dataset> dataset, JobLoaderOptions options) {
  choose_threads({options.threads}, options.pipeline);
  std::unique_ptr<JobLoader> loader(new JobLoader(options.pipeline.elastic));
  PipelineLink link = penstock_link(loader->handle_.get());
  link.broken = std::move(options.broken);
  const BlockedSignals blocked;
  auto pipeline =
      Pipeline::create(std::move(dataset), options.pipeline, std::move(link));
  if (!pipeline) return std::move(pipeline).error();
  loader->pipeline_ = pipeline->get();
  loader->source_ = *std::move(pipeline);
  loader->report();
  return loader;
}

Result<std::unique_ptr<JobLoader>> JobLoader::join(
    std::shared_ptr<const Dataset> dataset, const JobShare& share,
    JobLoaderOptions options) {
  choose_threads({options.threads}, options.pipeline);
  SharedOptions shared{options.pipeline};
  shared.name = share.name;
  shared.jobs = share.jobs;
  shared.window_batches = share.window_batches;
  std::unique_ptr<JobLoader> loader(new JobLoader(shared.elastic));
  PipelineLink link = penstock_link(loader->handle_.get());
  link.broken = std::move(options.broken);
  const BlockedSignals blocked;
  auto joined =
      SharedPreparer::create(std::move(dataset), shared, std::move(link));
  if (!joined) return std::move(joined).error();
  loader->share_ = joined->get();
  loader->source_ = *std::move(joined);
  loader->report();
  return loader;
}

JobLoader::~JobLoader() {
  if (!is_forked()) return;
  // Their destructors would wait for threads that this process does not have.
  (void)source_.release();
  (void)handle_.release();
}

bool JobLoader::is_forked() const { return ::getpid() != pid_; }

Result<std::optional<Batch>> JobLoader::next(uint64_t timeout_ns) {
  if (is_forked()) return forked(pid_);
  auto batch = next_within(timeout_ns);
  take_back_if_free();
  return batch;
}

Result<std::optional<Batch>> JobLoader::next_within(uint64_t timeout_ns) {
  const std::lock_guard lock(pipeline_mutex_);
  if (is_stopped_) {
    return Error{Code::kUnavailable, ECANCELED, "the loader is closed"};
  }
  count_step();
  const uint64_t begin_ns = monotonic_ns();
  const uint64_t waited_before_ns = wait_ns_;
  for (;;) {
    take_back();
    const uint64_t spent_ns = monotonic_ns() - begin_ns;
    const uint64_t left_ns = timeout_ns - std::min(timeout_ns, spent_ns);
    auto batch = source_->next(std::min(left_ns, kSlice_ns));
    wait_ns_ = waited_before_ns + monotonic_ns() - begin_ns;
    if (batch && *batch) {
      has_step_ = true;
      unfinished_ = (*batch)->size;
      const std::lock_guard held_lock(held_mutex_);
      held_.emplace((*batch)->number, **batch);
      return batch;
    }
    report();
    if (!batch || source_->finished() || left_ns == 0) return batch;
  }
}

void JobLoader::end_step() {
  if (is_forked()) return;
  const std::lock_guard lock(pipeline_mutex_);
  count_step();
}

void JobLoader::stop() {
  if (is_forked()) return;
  const std::lock_guard lock(pipeline_mutex_);
  if (is_stopped_) return;
  is_stopped_ = true;
  source_->stop();
  count_step();
  handle_.reset();
}

void JobLoader::count_step() {
  if (!has_step_) return;
  has_step_ = false;
  samples_ += unfinished_;
  ++steps_;
  report();
}

void JobLoader::report() {
  penstock_progress progress{};
  add_counters(source_->counters(), progress);
  progress.samples = samples_;
  progress.steps = steps_;
  progress.wait_ns = wait_ns_;
  progress.follows_hint = follows_hint_ ? 1 : 0;
  penstock_report(handle_.get(), &progress);
}

Status JobLoader::release(const Batch& batch) {
  if (is_forked()) return forked(pid_);
  {
    const std::lock_guard lock(held_mutex_);
    const auto found = held_.find(batch.number);
    // The number alone is not enough: each loader has a batch 0.
    if (found == held_.end() || found->second.data != batch.data) {
      return invalid("batch " + std::to_string(batch.number) +
                     " is not in use: it was released, or comes from another "
                     "loader");
    }
    returned_.push_back(found->second);
    held_.erase(found);
  }
  take_back_if_free();
  return Done{};
}

// REQUIRES: pipeline_mutex_ is held.
void JobLoader::take_back() {
  std::vector<Batch> returned;
  {
    const std::lock_guard lock(held_mutex_);
    returned.swap(returned_);
  }
  for (const Batch& batch : returned) source_->release(batch);
}

// If another thread holds pipeline_mutex_, that thread passes the batches on,
// at the latest after it unlocks.
void JobLoader::take_back_if_free() {
  for (;;) {
    {
      const std::lock_guard lock(held_mutex_);
      if (returned_.empty()) return;
    }
    const std::unique_lock lock(pipeline_mutex_, std::try_to_lock);
    if (!lock) return;
    take_back();
  }
}

bool JobLoader::is_held_up() {
  const std::lock_guard lock(pipeline_mutex_);
  take_back();
  return source_->is_held_up();
}

std::string JobLoader::pin_refusal() {
  const std::lock_guard lock(pipeline_mutex_);
  return pipeline_->pin_refusal();
}

SamplerState JobLoader::state() {
  const std::lock_guard lock(pipeline_mutex_);
  return pipeline_->state();
}

uint64_t JobLoader::samples_per_epoch() const {
  return share_ != nullptr ? share_->samples_per_epoch()
                           : pipeline_->samples_per_epoch();
}

uint64_t JobLoader::epoch() {
  const std::lock_guard lock(pipeline_mutex_);
  take_back();
  return share_ != nullptr ? share_->epoch() : pipeline_->state().epoch;
}

LoaderCounters JobLoader::counters() const { return source_->counters(); }

ShareCounters JobLoader::share() const { return share_->share(); }

}  // namespace penstock
