#include "loader/staging/shared_core.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <thread>

#include "common/clock.h"

namespace penstock {
namespace {

// Interval of checks for ended processes and late jobs. They take system calls,
// so they are not made at each of many wakes.
constexpr uint64_t kLookPeriod_ns = 100'000'000;

}  // namespace

SharedCore::SharedCore(std::unique_ptr<StageFile> file, BatchRecipe recipe,
                       const SharedOptions& options, PipelineLink link)
    : options_(options),
      file_(std::move(file)),
      recipe_(std::move(recipe)),
      link_(std::move(link)),
      broken_([this](uint64_t index, const std::string& why) {
        name_broken(index, why);
      }),
      began_ns_(monotonic_ns()),
      jobs_(*file_),
      overdue_(file_->shape().window),
      claims_(*file_, overdue_),
      seat_(*file_, overdue_, options.times),
      alone_(recipe_, options_, link_),
      pool_(
          options.threads_max,
          [this](size_t, const ElasticPool::Wanted& wanted) {
            prepare_batches(wanted);
          },
          link_.thread) {}

SharedCore::~SharedCore() {
  stop();
  shut();
}

// Unfinished claims are abandoned, for other jobs to prepare.
void SharedCore::stop() {
  stopping_ = true;
  control_.stop();
  pool_.stop();
  seat_.go_out();
  if (alone_.is_on()) alone_.stop();
}

void SharedCore::shut() {
  control_.stop();
  pool_.stop();
  seat_.leave();
  file_->leave();
}

Status SharedCore::start() {
  if (Status reserved = seat_.reserve(); !reserved) return reserved;
  enter(0);
  follow_hint();  // sets the rate, then starts the threads
  if (pool_.running() == 0) {
    return Error{Code::kLimit, EAGAIN, "the system gives no loader thread"};
  }
  control_.start([this] { follow_hint(); });
  return Done{};
}

// While the job is alone the pool is empty: the private pipeline follows the
// hint itself.
void SharedCore::follow_hint() {
  const auto hint = link_.hint ? link_.hint() : std::nullopt;
  bucket_.set_rate(hint ? hint->rate_bytes_per_s : 0, monotonic_ns());
  const bool follow = options_.elastic && hint;
  const size_t threads = follow
                             ? std::clamp(hint->threads, options_.threads_min,
                                          options_.threads_max)
                             : options_.threads;
  pool_.resize(alone_.is_on() ? 0 : threads);
}

void SharedCore::enter(uint64_t epoch) {
  epoch = seat_.enter(epoch);
  has_waited_ = false;
  if (options_.epochs == 0) return;
  seat_.set_end((epoch + options_.epochs - epochs_handed_) * per_epoch());
}

// No job claims before the expected jobs are active, so that all of them get
// the first epoch together.
bool SharedCore::may_claim(uint64_t now_ns) {
  if (!has_gathered_ && now_ns - began_ns_ < options_.times.gather_ns &&
      jobs_.active() < options_.jobs && jobs_.newest() == 0) {
    return false;
  }
  has_gathered_ = true;
  return seat_.is_in();  // an expelled job prepares for itself only
}

void SharedCore::prepare_batches(const ElasticPool::Wanted& wanted) {
  BatchPreparer preparer(recipe_, bucket_, counters_, broken_);
  uint64_t looked_ns = 0;
  while (wanted() && !stopping_) {
    const uint32_t key = file_->header().room.prepare();
    const uint64_t now_ns = monotonic_ns();
    const bool looks = now_ns - looked_ns >= kLookPeriod_ns;
    if (looks) looked_ns = now_ns;
    const auto claim =
        may_claim(now_ns) ? claims_.claim(looks) : std::optional<StageClaim>();
    if (claim) {
      prepare(*claim, preparer);
    } else {
      file_->header().room.wait(key, kLookPeriod_ns);
    }
  }
}

void SharedCore::prepare(const StageClaim& claim, BatchPreparer& preparer) {
  file_->map_in(claim.buffer);
  const auto stopping = [&] { return stopping_ || !claims_.holds(claim); };
  if (!preparer.prepare(claim.batch, file_->buffer(claim.buffer),
                        file_->progress(claim.buffer), stopping)) {
    claims_.leave(claim);
    lost_claims_ += stopping_ ? 0 : 1;
  } else if (!claims_.publish(claim)) {
    ++lost_claims_;
  }
}

void SharedCore::name_broken(uint64_t index, const std::string& why) {
  try {
    const std::lock_guard lock(broken_mutex_);
    if (!named_.insert(index).second) return;
  } catch (const std::bad_alloc&) {  // then the message may repeat
  }
  if (link_.broken) link_.broken(why);
}

Result<std::optional<Batch>> SharedCore::next(uint64_t timeout_ns) {
  if (ended_by_) return *ended_by_;
  if (in_use_) {  // only the caller's release() can change that
    std::this_thread::sleep_for(
        std::chrono::nanoseconds(std::min(timeout_ns, kLookPeriod_ns)));
    return std::optional<Batch>();
  }
  const uint64_t begin_ns = monotonic_ns();
  uint64_t waited_ns = 0;
  do {
    if (finished()) return std::optional<Batch>();
    auto batch = alone_.is_on() ? next_alone(timeout_ns - waited_ns)
                                : next_shared(timeout_ns - waited_ns);
    if (!batch || *batch) return batch;
    waited_ns = monotonic_ns() - begin_ns;
  } while (waited_ns < timeout_ns);
  return std::optional<Batch>();
}

std::optional<Batch> SharedCore::hand_out(Batch batch) {
  in_use_ = batch;
  epochs_handed_ += batch.ends_epoch ? 1 : 0;
  if (batch.size > 0) empty_samples_ = 0;
  batch.number = handed_++;
  return batch;
}

// Counts a batch without a good sample. Fails if as many samples in a row as
// the data set has were broken.
Status SharedCore::skip_empty(uint64_t samples) {
  ++handed_;
  empty_samples_ += samples;
  if (empty_samples_ < recipe_.dataset->size()) return Done{};
  return end_by({Code::kIo, 0,
                 "all samples of " + recipe_.dataset->path() + " are broken"});
}

// From now on next() returns `why`, and other jobs do not wait for this one.
Error SharedCore::end_by(Error why) {
  seat_.go_out();
  ended_by_ = why;
  return why;
}

Result<std::optional<Batch>> SharedCore::next_shared(uint64_t timeout_ns) {
  const uint32_t key = file_->header().ready.prepare();
  uint32_t buffer = 0;
  const StageSeat::Take took = seat_.take(buffer);
  if (took == StageSeat::Take::kOut) {
    if (Status gone = go_on_without_share(); !gone) {
      return std::move(gone).error();
    }
    return std::optional<Batch>();
  }
  if (took == StageSeat::Take::kNotYet) {
    has_waited_ = true;
    look_around();
    file_->header().ready.wait(key, std::min(timeout_ns, kLookPeriod_ns));
    return std::optional<Batch>();
  }
  has_waited_ = false;
  return use(buffer);
}

Result<std::optional<Batch>> SharedCore::use(uint32_t buffer) {
  Batch batch = recipe_.layout.view(file_->buffer(buffer));
  batch.ends_epoch = recipe_.plan.ends_epoch(seat_.next());
  const uint64_t samples = recipe_.plan.samples(seat_.next());
  if (const auto error = error_of(batch, samples)) {
    (void)seat_.release();
    return end_by(*error);
  }
  ++used_batches_;
  if (batch.size > 0 || batch.ends_epoch) return hand_out(batch);
  (void)seat_.release();  // the next take() reports kOut
  if (Status skipped = skip_empty(samples); !skipped) {
    return std::move(skipped).error();
  }
  return std::optional<Batch>();
}

// Names the broken sample but not the cause: the batch does not carry it, and
// another job may have prepared the batch.
std::optional<Error> SharedCore::error_of(const Batch& batch,
                                          uint64_t samples) {
  if (options_.broken != BrokenSamples::kFatal || batch.size >= samples) {
    return std::nullopt;
  }
  const uint64_t index =
      std::min(batch.indices[samples - 1], recipe_.dataset->size() - 1);
  return Error{Code::kIo, 0,
               recipe_.dataset->name(index) +
                   ": cannot be read or decoded; the job of share " +
                   options_.name + " that tried it has the reason"};
}

void SharedCore::look_around() {
  const uint64_t now_ns = monotonic_ns();
  if (now_ns - looked_ns_ < kLookPeriod_ns) return;
  looked_ns_ = now_ns;
  seat_.look_around(now_ns);
}

// Prepares alone the rest of an epoch that has begun, or a whole one if the job
// waited in vain for its first batch. Otherwise the job re-enters at once.
Status SharedCore::go_on_without_share() {
  ++times_out_;
  alone_first_ = seat_.next();
  const uint64_t in_epoch = alone_first_ % per_epoch();
  if (in_epoch == 0 && !has_waited_) {
    enter(alone_first_ / per_epoch());
    return Done{};
  }
  return alone_.begin(alone_first_ / per_epoch(), in_epoch);
}

Result<std::optional<Batch>> SharedCore::next_alone(uint64_t timeout_ns) {
  auto batch = alone_.next(timeout_ns);
  if (batch && !*batch) return batch;
  ++alone_batches_;
  if (batch) return hand_out(**batch);
  if (options_.broken == BrokenSamples::kFatal) return end_by(batch.error());
  // Every sample left in the epoch is broken.
  const uint64_t first = recipe_.plan.first_sample(alone_first_);
  const uint64_t left = recipe_.sampler.epoch_end(first) - first;
  if (Status skipped = skip_empty(left); !skipped) {
    return std::move(skipped).error();
  }
  return hand_out({.ends_epoch = true});
}

void SharedCore::release(const Batch& /*batch*/) {
  if (!in_use_) return;
  const Batch batch = *in_use_;
  in_use_.reset();
  if (!alone_.is_on()) {
    (void)seat_.release();  // the next take() reports kOut
  } else if (batch.data != nullptr) {
    alone_.release(batch);
  }
  if (stopping_) return;
  if (finished()) return shut();
  if (!alone_.is_on() || !batch.ends_epoch) return;
  alone_.end();
  enter(alone_first_ / per_epoch() + 1);
}

LoaderCounters SharedCore::counters() const {
  LoaderCounters counters = counters_.read() + alone_.counters();
  counters.threads += pool_.running();
  counters.cache_samples = recipe_.dataset->cached_samples();
  counters.data_samples = recipe_.dataset->size();
  counters.share = alone_.is_on() ? 0 : file_->key();
  return counters;
}

ShareCounters SharedCore::share() const {
  return {.used_batches = used_batches_,
          .lost_claims = lost_claims_,
          .times_out = times_out_,
          .alone_batches = alone_batches_};
}

}  // namespace penstock
