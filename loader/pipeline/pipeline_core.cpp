#include "loader/pipeline/pipeline_core.h"

#include <algorithm>
#include <cerrno>
#include <new>

#include "common/clock.h"
#include "loader/data/random.h"

namespace penstock {
namespace {

constexpr uint64_t kClaimWaitNs = 100000000;

}  // namespace

PipelineCore::PipelineCore(std::shared_ptr<const Dataset> dataset,
                           const PipelineOptions& options,
                           const EpochSampler& sampler,
                           const PipelineShape& shape, PipelineLink link)
    : dataset_(std::move(dataset)),
      options_(options),
      threads_max_(shape.threads_max),
      link_(std::move(link)),
      sampler_(sampler),
      thread_bytes_(shape.thread_bytes),
      ring_(shape.ring),
      pool_(
          shape.threads_max,
          [this](size_t, const ElasticPool::Wanted& wanted) {
            run_thread(wanted);
          },
          link_.thread) {}

Status PipelineCore::start() {
  // First: loader threads could leave no room for the control thread's stack.
  control_.start([this] {
    if (is_started_) follow_hint();
  });
  follow_hint();  // sets the rate, then starts the threads
  is_started_ = true;
  if (pool_.running() > 0 || all_claimed_) return Done{};
  return Error{Code::kLimit, EAGAIN, "the system gives no loader thread"};
}

void PipelineCore::stop() {
  stopping_ = true;
  control_.stop();
  ring_.wake_claimers();
  pool_.stop();
}

void PipelineCore::run_thread(const ElasticPool::Wanted& wanted) {
  std::unique_ptr<SamplePreparer> preparer;
  while (wanted() && !stopping_) {
    BatchRing::Place place;
    const BatchRing::Claim claim = ring_.claim(place, kClaimWaitNs);
    if (claim == BatchRing::Claim::kEnd) {
      all_claimed_ = true;
      break;
    }
    if (claim == BatchRing::Claim::kGot) prepare_place(preparer, place);
  }
}

// If memory ran out, the error has no message; name_broken() adds it.
Status PipelineCore::prepare(std::unique_ptr<SamplePreparer>& preparer,
                             uint64_t position, uint64_t& index, float* out,
                             SampleFacts& facts) {
  const FeedSample sample = sample_of(feed_at(position), sampler_, position);
  index = sample.index;
  try {
    if (!preparer) {
      const SamplePreparer::Options options{options_.read_mode,
                                            options_.crop_side,
                                            options_.augment, thread_bytes_};
      preparer = std::make_unique<SamplePreparer>(*dataset_, options, bucket_);
    }
    return preparer->prepare(
        index, sample_seed(options_.seed, sample.epoch, index), sample.source,
        [this] { return stopping_.load(); }, out, facts);
  } catch (const std::bad_alloc&) {
    return Error{Code::kLimit, ENOMEM, {}};
  }
}

void PipelineCore::prepare_place(std::unique_ptr<SamplePreparer>& preparer,
                                 const BatchRing::Place& place) {
  const uint64_t cpu_begin_ns = thread_cpu_ns();
  uint64_t index = 0;
  SampleFacts facts;
  const Status prepared =
      prepare(preparer, place.position, index, place.out, facts);
  counters_.add(facts.counted);
  if (prepared) {
    counters_.add({.prepared = 1});
  } else if (!stopping_) {
    counters_.add({.broken = 1});
    try {
      name_broken(place, index, prepared.error());
    } catch (const std::bad_alloc&) {  // counted, but not reported
    }
  }
  counters_.add({.cpu_ns = thread_cpu_ns() - cpu_begin_ns});
  ring_.complete(place, {prepared.ok(), index, facts.label});
}

Feed PipelineCore::feed_at(uint64_t position) {
  if (!has_feeds_) return {};
  const std::lock_guard lock(feeds_mutex_);
  return feeds_.at(position);
}

// The feed starts at the ring's end: no thread can have claimed a place there.
uint64_t PipelineCore::set_feed(const Feed& feed) {
  const uint64_t batch = ring_.end_number();
  const std::lock_guard lock(feeds_mutex_);
  feeds_.add(ring_.plan().first_sample(batch), feed);
  has_feeds_ = true;
  return batch;
}

std::vector<uint64_t> PipelineCore::subset(uint64_t samples) const {
  std::vector<uint64_t> indices;
  for (uint64_t i = 0; i < std::min(samples, samples_per_epoch()); ++i) {
    indices.push_back(sampler_.sample_at(i).index);
  }
  return indices;
}

void PipelineCore::name_broken(const BatchRing::Place& place, uint64_t index,
                               Error why) {
  if (why.message.empty()) {
    why.message = dataset_->name(index) + ": no memory to prepare it";
  }
  {
    const std::lock_guard lock(broken_mutex_);
    last_broken_ = why.message;
    if (options_.broken == BrokenSamples::kFatal) {
      fatal_.emplace(place.position, why);
    }
    if (!named_.insert(index).second) return;
  }
  if (link_.broken) link_.broken(why.message);
}

// With BrokenSamples::kFatal, the error of the batch's first broken sample.
std::optional<Error> PipelineCore::error_of(const Batch& batch) {
  const uint64_t places = ring_.plan().samples(batch.number);
  if (options_.broken != BrokenSamples::kFatal || batch.size == places) {
    return std::nullopt;
  }
  const std::lock_guard lock(broken_mutex_);
  const auto found =
      fatal_.lower_bound(ring_.plan().first_sample(batch.number));
  if (found != fatal_.end()) return found->second;
  return Error{Code::kLimit, ENOMEM, "no memory"};  // not even to record it
}

Result<std::optional<Batch>> PipelineCore::next(uint64_t timeout_ns) {
  if (options_.pinned) ring_.try_pin();
  while (!ended_by_) {
    auto batch = ring_.next(timeout_ns);
    if (!batch) return std::optional<Batch>();
    ended_by_ = error_of(*batch);
    if (ended_by_) break;
    if (batch->size > 0) {
      empty_samples_ = 0;
      return batch;
    }
    empty_samples_ += ring_.plan().samples(batch->number);
    if (empty_samples_ >= samples_per_epoch() ||
        (ring_.finished() && counters_.read().prepared == 0)) {
      const std::lock_guard lock(broken_mutex_);
      ended_by_ = Error{Code::kIo, 0,
                        "all samples of " + dataset_->path() +
                            " are broken; the last: " + last_broken_};
      break;
    }
    // Another rank's batch of this number may have samples, and that rank would
    // wait for this one.
    if (batch->ends_epoch || options_.ranks > 1) return batch;
    ring_.release(*batch);
  }
  return *ended_by_;
}

SamplerState PipelineCore::state() const {
  return sampler_.state_after(ring_.plan().first_sample(ring_.unhanded()));
}

void PipelineCore::follow_hint() {
  const auto hint = link_.hint ? link_.hint() : std::nullopt;
  bucket_.set_rate(hint ? hint->rate_bytes_per_s : 0, monotonic_ns());
  if (all_claimed_ || stopping_) return;
  const bool follow = options_.elastic && hint;
  const size_t threads =
      follow ? std::clamp(hint->threads, options_.threads_min, threads_max_)
             : std::min(options_.threads, threads_max_);
  pool_.resize(threads);
  // Surplus threads may be waiting for room in the ring: wake them to end.
  if (threads < pool_.running()) ring_.wake_claimers();
}

LoaderCounters PipelineCore::counters() const {
  LoaderCounters counters = counters_.read();
  counters.cache_samples = dataset_->cached_samples();
  counters.data_samples = dataset_->size();
  counters.threads = pool_.running();
  return counters;
}

}  // namespace penstock
