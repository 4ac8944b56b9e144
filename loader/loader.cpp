#include "loader/loader.h"

#include <pthread.h>

#include <algorithm>
#include <new>
#include <system_error>

#include "common/units.h"
#include "loader/clock.h"
#include "loader/random.h"
#include "loader/sample_preparer.h"

namespace penstock {
namespace {

constexpr uint64_t kControlPeriodNs = 50000000;
constexpr uint64_t kClaimWaitNs = 100000000;
constexpr size_t kMaxThreads = 4096;
constexpr uint64_t kMaxRingBytes = uint64_t{64} << 30;

size_t sample_floats(const Dataset& dataset, const LoaderOptions& options) {
  if (dataset.tensor_bytes() > 0) return dataset.tensor_bytes();
  const auto side = static_cast<size_t>(options.crop_side);
  return 3 * side * side;
}

// At least the batches asked for, and two places per thread, so that a small
// batch does not leave threads without work.
BatchRing::Shape ring_shape(const Dataset& dataset,
                            const LoaderOptions& options) {
  const size_t for_threads =
      (2 * options.threads_max + options.batch_samples - 1) /
      options.batch_samples;
  return {std::max(options.ring_batches, for_threads),
          sample_floats(dataset, options),
          {options.batch_samples, options.total_samples}};
}

Status check(const Dataset& dataset, const LoaderOptions& options) {
  if (options.batch_samples < 1 || options.batch_samples > 65536) {
    return invalid("batch: allowed: 1 to 65536");
  }
  if (options.crop_side < 1 || options.crop_side > 4096) {
    return invalid("crop: allowed: 1 to 4096");
  }
  if (options.threads_min < 1 || options.threads_max > kMaxThreads ||
      options.threads < options.threads_min ||
      options.threads > options.threads_max) {
    return invalid(
        "threads: allowed: 1 <= minimum <= threads <= maximum <= 4096");
  }
  if (options.ring_batches < 1 || options.ring_batches > 1024) {
    return invalid("ring: allowed: 1 to 1024 batches");
  }
  if (options.total_samples < 1) return invalid("samples: allowed: 1 or more");
  const BatchRing::Shape ring = ring_shape(dataset, options);
  const uint64_t ring_bytes = uint64_t{ring.batches} * ring.plan.batch_samples *
                              ring.sample_floats * sizeof(float);
  if (ring_bytes > kMaxRingBytes) {
    return invalid("the ring of batches needs " +
                   format_bytes(static_cast<double>(ring_bytes)) +
                   "; allowed: 64 GB; a smaller batch or crop needs less");
  }
  return Done{};
}

}  // namespace

Loader::Loader(std::shared_ptr<const Dataset> dataset,
               const LoaderOptions& options, LoaderLink link)
    : dataset_(std::move(dataset)),
      options_(options),
      link_(std::move(link)),
      order_(dataset_->size(), options.seed),
      ring_(ring_shape(*dataset_, options)),
      pool_(options.threads_max,
            [this](size_t id, const ElasticPool::Wanted& wanted) {
              run_thread(id, wanted);
            }) {}

Result<std::unique_ptr<Loader>> Loader::create(
    std::shared_ptr<const Dataset> dataset, const LoaderOptions& options,
    LoaderLink link) {
  if (auto checked = check(*dataset, options); !checked) return checked.error();
  try {
    std::unique_ptr<Loader> loader(
        new Loader(std::move(dataset), options, std::move(link)));
    loader->follow_hint();  // starts the threads, the rate already kept
    loader->control_ =
        std::thread([raw = loader.get()] { raw->run_control(); });
    if (loader->pool_.running() > 0 || loader->all_claimed_) return loader;
    return Error{Code::kLimit, EAGAIN, "the system gives no loader thread"};
  } catch (const std::bad_alloc&) {
    return Error{Code::kLimit, ENOMEM,
                 "no memory for the ring of batches; a smaller batch or crop "
                 "needs less"};
  } catch (const std::system_error& error) {
    return Error{Code::kLimit, error.code().value(),
                 "the system gives no control thread"};
  }
}

Loader::~Loader() {
  stopping_ = true;
  control_wakes_.notify_all();
  if (control_.joinable()) control_.join();
  pool_.resize(0);  // its destructor waits
}

void Loader::run_thread(size_t id, const ElasticPool::Wanted& wanted) {
  const std::string name = "pst_loader_" + std::to_string(id);
  pthread_setname_np(pthread_self(), name.c_str());
  if (link_.thread) link_.thread(true);
  {
    SamplePreparer preparer(*dataset_, options_.read_mode, options_.crop_side,
                            bucket_);
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
  if (link_.thread) link_.thread(false);
}

void Loader::prepare_place(SamplePreparer& preparer,
                           const BatchRing::Place& place) {
  const uint64_t cpu_begin_ns = thread_cpu_ns();
  const auto [epoch, index, source] = sample_of(
      feed_at(place.position), order_, dataset_->size(), place.position);
  SampleFacts facts;
  const Status prepared = preparer.prepare(
      index, sample_seed(options_.seed, epoch, index), source,
      [this] { return stopping_.load(); }, place.out, facts);
  bytes_ += facts.bytes;
  fetch_ns_ += facts.fetch_ns;
  prep_ns_ += facts.prep_ns;
  if (prepared) {
    ++prepared_;
  } else if (!stopping_) {
    note_broken(index, prepared.error().message);
  }
  cpu_ns_ += thread_cpu_ns() - cpu_begin_ns;
  ring_.complete(place, {prepared.ok(), index, facts.label});
}

Feed Loader::feed_at(uint64_t position) {
  if (!has_feeds_) return {};
  const std::lock_guard lock(feeds_mutex_);
  return feeds_.at(position);
}

// No thread can have claimed a place beyond the ring.
uint64_t Loader::set_feed(const Feed& feed) {
  const uint64_t batch = ring_.end_number();
  const std::lock_guard lock(feeds_mutex_);
  feeds_.add(batch * options_.batch_samples, feed);
  has_feeds_ = true;
  return batch;
}

std::vector<uint64_t> Loader::subset(uint64_t samples) const {
  const uint64_t count = dataset_->size();
  std::vector<uint64_t> indices;
  for (uint64_t i = 0; i < std::min(samples, count); ++i) {
    indices.push_back(order_.sample_at(0, i));
  }
  return indices;
}

void Loader::note_broken(uint64_t index, const std::string& why) {
  ++broken_;
  {
    const std::lock_guard lock(broken_mutex_);
    last_broken_ = why;
    if (!named_.insert(index).second) return;
  }
  if (link_.broken) link_.broken(why);
}

Result<std::optional<Batch>> Loader::next(uint64_t timeout_ns) {
  while (auto batch = ring_.next(timeout_ns)) {
    if (batch->size > 0) {
      empty_samples_ = 0;
      return batch;
    }
    empty_samples_ += options_.batch_samples;
    ring_.release(*batch);
    if (empty_samples_ >= dataset_->size() ||
        (ring_.finished() && prepared_ == 0)) {
      const std::lock_guard lock(broken_mutex_);
      return Error{Code::kIo, 0,
                   "all samples of " + dataset_->path() +
                       " are broken; the last: " + last_broken_};
    }
  }
  return std::optional<Batch>();
}

void Loader::follow_hint() {
  const auto hint = link_.hint ? link_.hint() : std::nullopt;
  bucket_.set_rate(hint ? hint->rate_bytes_per_s : 0, monotonic_ns());
  if (all_claimed_ || stopping_) return;
  const bool follow = options_.elastic && hint;
  pool_.resize(follow ? std::clamp(hint->threads, options_.threads_min,
                                   options_.threads_max)
                      : options_.threads);
}

void Loader::run_control() {
  pthread_setname_np(pthread_self(), "pst_control");
  while (!stopping_) {
    const uint32_t key = control_wakes_.prepare();
    follow_hint();
    if (!stopping_) control_wakes_.wait(key, kControlPeriodNs);
  }
}

LoaderCounters Loader::counters() const {
  return {prepared_, broken_, bytes_,         fetch_ns_,
          prep_ns_,  cpu_ns_, pool_.running()};
}

}  // namespace penstock
