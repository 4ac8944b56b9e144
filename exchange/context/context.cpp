#include "exchange/context/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "exchange/context/agree.h"
#include "exchange/context/failures.h"
#include "exchange/context/pause.h"
#include "exchange/context/runner.h"

namespace penstock::exchange {
namespace {

using Clock = std::chrono::steady_clock;
// How often an exchange that stands still asks whether a rank has failed.
constexpr auto kListen = std::chrono::milliseconds(10);
// Who has not looked for so long, as a job that was stopped for a while, or a
// rank without a thread that did something else, cannot say that nothing came.
constexpr auto kAway = std::chrono::seconds(1);

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

// The transport and the runner are whose that has claimed them: without the
// lock, so that a gradient is taken while another layer is exchanged. All other
// members are read and written with the lock.
class Context::Impl {
 public:
  Impl(std::unique_ptr<Transport> transport, const ContextOptions& options)
      : transport_(std::move(transport)), options_(options) {}
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const Transport& transport() const { return *transport_; }
  int add_layer(LayerOptions layer);
  void refuse(const std::string& why) { refusal_ = why; }
  Status plan();
  Status submit(int layer, std::span<float> gradient, Update& update);
  Result<bool> poll(int layer);
  Status wait(int layer);
  Status set_densities(std::span<const double> densities);
  void give_up(const std::string& why);
  ContextStats stats() const;
  const Runner& runner() const { return *runner_; }
  Runner& runner() { return *runner_; }

 private:
  using Lock = std::unique_lock<std::mutex>;

  void claim(Lock& lock);
  Status check_layer(int layer) const;
  Status check_submit(int layer, std::span<float> gradient) const;
  void take(Lock& lock, int layer, std::span<float> gradient, Update& update);
  bool is_ready(size_t group) const {
    return submitted_[group] == runner_->group(group).layers.size();
  }
  bool is_stuck() const {
    return !is_claimed_ && !runner_->is_busy() && !is_ready(next_);
  }
  bool drive(Lock& lock);
  Result<bool> step(bool is_ready);
  void finish_group();
  void fail(Lock& lock, Error error);
  Status watch();
  Status result_of(int layer) const;
  Status wait_locked(Lock& lock, int layer);
  Result<std::unique_ptr<Runner>> plan_with(std::span<const double> densities);
  Error not_submitted(int layer) const;
  void run_thread();

  std::unique_ptr<Transport> transport_;
  ContextOptions options_;
  std::vector<LayerOptions> layers_;
  std::string refusal_;
  std::unique_ptr<Runner> runner_;
  std::optional<Failures> failures_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_claimed_ = false;
  bool is_stopped_ = false;
  std::optional<Error> error_;
  std::vector<bool> is_done_;      // of layers
  std::vector<size_t> submitted_;  // layers, of groups
  size_t next_ = 0;                // the group that is exchanged, or will be
  double wait_s_ = 0;
  uint64_t sent_bytes_ = 0;
  std::thread thread_;

  // Of who has claimed.
  Clock::time_point moved_ = Clock::now(), listened_ = Clock::now();
};

Context::Impl::~Impl() {
  Lock lock(mutex_);
  is_stopped_ = true;
  changed_.notify_all();
  if (thread_.joinable()) {
    lock.unlock();
    thread_.join();
    lock.lock();
  }
  if (runner_ == nullptr) return;
  const bool is_waited_for =
      runner_->is_busy() ||
      std::any_of(submitted_.begin(), submitted_.end(),
                  [](size_t layers) { return layers > 0; });
  if (is_waited_for && !error_) {
    failures_->tell("it has ended its exchange before it was done");
  }
  // MPI may still write into what it was given.
  if (runner_->is_busy()) runner_->abandon();
}

int Context::Impl::add_layer(LayerOptions layer) {
  layers_.push_back(std::move(layer));
  return static_cast<int>(layers_.size()) - 1;
}

Status Context::Impl::plan() {
  if (runner_ != nullptr) return invalid("the exchange is planned already");
  const int ranks = transport_->size();
  transport_->reserve(Engine::requests_of(ranks) +
                      Failures::requests_of(ranks));
  const auto costs = agree(*transport_, options_, layers_, refusal_);
  if (!costs) return Error(costs.error());
  options_.costs = *costs;
  auto failures = Failures::make(*transport_);
  if (!failures) return std::move(failures).error();
  failures_.emplace(std::move(*failures));
  auto runner = Runner::make(*transport_, options_, layers_);
  if (!runner) {
    failures_->tell(runner.error().message);
    return std::move(runner).error();
  }
  runner_ = std::move(*runner);
  is_done_.assign(layers_.size(), true);
  submitted_.assign(runner_->groups(), 0);
  if (options_.has_thread && ranks > 1) {
    thread_ = std::thread([this] { run_thread(); });
  }
  return Done{};
}

void Context::Impl::claim(Lock& lock) {
  while (is_claimed_) changed_.wait_for(lock, kListen);
  is_claimed_ = true;
}

Status Context::Impl::check_layer(int layer) const {
  if (runner_ == nullptr) return invalid("plan() was not called");
  if (layer >= 0 && size_t(layer) < is_done_.size()) return Done{};
  return invalid(fmt::format("there is no layer {}: {} were added", layer,
                             is_done_.size()));
}

Status Context::Impl::check_submit(int layer, std::span<float> gradient) const {
  if (error_) return Error(*error_);
  if (Status known = check_layer(layer); !known) return known;
  if (gradient.size() != runner_->elements(layer)) {
    return invalid(fmt::format(
        "a gradient of {} elements was submitted for layer {}, which has {}",
        gradient.size(), runner_->name(layer), runner_->elements(layer)));
  }
  if (!is_done_[size_t(layer)]) {
    return invalid(fmt::format(
        "layer {} was submitted before its last exchange was done: wait for it",
        runner_->name(layer)));
  }
  return Done{};
}

Status Context::Impl::submit(int layer, std::span<float> gradient,
                             Update& update) {
  if (runner_ == nullptr) return invalid("plan() was not called");
  Lock lock(mutex_);
  if (Status checked = check_submit(layer, gradient); !checked) {
    Error error = std::move(checked).error();
    if (!error_) {
      claim(lock);
      fail(lock, error);
      is_claimed_ = false;
    }
    return error;
  }
  take(lock, layer, gradient, update);
  if (!thread_.joinable()) drive(lock);
  return error_ ? Status(Error(*error_)) : Done{};
}

// A sparse layer whose turn it is begins in the same pass over its gradient.
void Context::Impl::take(Lock& lock, int layer, std::span<float> gradient,
                         Update& update) {
  const size_t group = runner_->group_of(layer);
  const bool begins = !is_claimed_ && !runner_->is_busy() && next_ == group &&
                      runner_->group(group).method != Method::kDense;
  is_done_[size_t(layer)] = false;
  if (begins) is_claimed_ = true;
  lock.unlock();
  Status begun = Done{};
  if (begins) {
    moved_ = Clock::now();
    begun = runner_->take_and_begin(layer, gradient, update);
  } else {
    runner_->take(layer, gradient, update);
  }
  lock.lock();
  ++submitted_[group];
  if (!begun) fail(lock, std::move(begun).error());
  if (begins) is_claimed_ = false;
  changed_.notify_all();
}

// As far as it goes without waiting; whether it went anywhere, if only by a
// message.
bool Context::Impl::drive(Lock& lock) {
  if (is_claimed_ || error_) return false;
  is_claimed_ = true;
  const uint64_t finished = transport_->finished();
  bool has_moved = false;
  for (;;) {
    const bool was_busy = runner_->is_busy();
    const bool begins = !was_busy && is_ready(next_);
    if (!was_busy && !begins) break;
    lock.unlock();
    Result<bool> moved = step(begins);
    lock.lock();
    if (!moved) {
      fail(lock, std::move(moved).error());
      break;
    }
    if (was_busy && *moved) finish_group();
    has_moved = has_moved || *moved;
    if (!*moved) break;
  }
  if (has_moved || error_) changed_.notify_all();
  has_moved = has_moved || transport_->finished() != finished;
  is_claimed_ = false;
  return has_moved;
}

// With the claim, without the lock. Begins a group, or goes on with it: whether
// it is done.
Result<bool> Context::Impl::step(bool begins) {
  if (begins) {
    moved_ = Clock::now();
    if (Status begun = runner_->begin(next_); !begun) {
      return std::move(begun).error();
    }
    return true;
  }
  Result<bool> done = runner_->advance();
  if (!done) return done;
  if (*done) return true;
  if (Status watched = watch(); !watched) return std::move(watched).error();
  return false;
}

// Of an exchange that stands still.
Status Context::Impl::watch() {
  const auto now = Clock::now();
  const auto unheard = now - listened_;
  if (unheard < kListen) return Done{};
  listened_ = now;
  if (unheard > kAway) moved_ = now;
  if (const auto failure = failures_->heard()) {
    return Error{Code::kUnavailable, 0, *failure};
  }
  const double still_s = since(moved_);
  if (still_s <= options_.timeout_s) return Done{};
  const std::string missing = runner_->missing();
  return Error{
      Code::kUnavailable, 0,
      fmt::format("the exchange of layer {} is not done after {:.0f} s: {} "
                  "has not answered; has it ended, or does it submit other "
                  "layers?",
                  runner_->name(runner_->group(next_).layers[0]), still_s,
                  missing.empty() ? "some rank" : missing)};
}

void Context::Impl::finish_group() {
  sent_bytes_ += runner_->sent_bytes();
  for (const int layer : runner_->group(next_).layers) {
    is_done_[size_t(layer)] = true;
  }
  submitted_[next_] = 0;
  next_ = (next_ + 1) % submitted_.size();
}

// REQUIRES: claimed.
void Context::Impl::fail(Lock& lock, Error error) {
  if (error_) return;
  const bool is_theirs = error.code == Code::kUnavailable;
  error_ = std::move(error);
  if (is_theirs) return;
  lock.unlock();
  failures_->tell(error_->message);
  lock.lock();
}

Status Context::Impl::result_of(int layer) const {
  if (runner_->was_finite(layer)) return Done{};
  return invalid(fmt::format(
      "the gradient of layer {} was infinite or no number on some rank: its "
      "sums were not applied",
      runner_->name(layer)));
}

Error Context::Impl::not_submitted(int layer) const {
  const Group& group = runner_->group(next_);
  std::string missing;
  for (const int one : group.layers) {
    if (is_done_[size_t(one)]) {
      missing = runner_->name(one);
      break;
    }
  }
  return invalid(fmt::format(
      "layer {} waits for layer {}, which was not submitted: layers are "
      "exchanged in the order in which they were added, small ones together",
      runner_->name(layer), missing));
}

Result<bool> Context::Impl::poll(int layer) {
  if (Status known = check_layer(layer); !known) {
    return std::move(known).error();
  }
  Lock lock(mutex_);
  if (!thread_.joinable()) drive(lock);
  if (is_done_[size_t(layer)]) {
    if (Status result = result_of(layer); !result) {
      return std::move(result).error();
    }
    return true;
  }
  if (error_) return Error(*error_);
  return false;
}

Status Context::Impl::wait(int layer) {
  if (Status known = check_layer(layer); !known) return known;
  const auto start = Clock::now();
  Lock lock(mutex_);
  Status result = wait_locked(lock, layer);
  wait_s_ += since(start);
  return result;
}

void Context::Impl::give_up(const std::string& why) {
  Lock lock(mutex_);
  claim(lock);
  fail(lock, Error{Code::kInvalidArgument, 0, why});
  is_claimed_ = false;
  changed_.notify_all();
}

Status Context::Impl::wait_locked(Lock& lock, int layer) {
  for (Pause pause;;) {
    const bool has_moved = !thread_.joinable() && drive(lock);
    if (is_done_[size_t(layer)]) return result_of(layer);
    if (error_) return Error(*error_);
    if (is_stuck()) {
      Error error = not_submitted(layer);
      claim(lock);
      fail(lock, error);
      is_claimed_ = false;
      return error;
    }
    if (thread_.joinable()) {
      changed_.wait(lock);
    } else if (has_moved) {
      pause.reset();
    } else {
      lock.unlock();
      pause.wait();
      lock.lock();
    }
  }
}

Status Context::Impl::set_densities(std::span<const double> densities) {
  Lock lock(mutex_);
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    // What was wrong with a gradient wait() has said, or will.
    (void)wait_locked(lock, int(layer));
    if (error_) return Error(*error_);
  }
  claim(lock);
  lock.unlock();
  Result<std::unique_ptr<Runner>> next = plan_with(densities);
  lock.lock();
  Status result = Done{};
  if (next) {
    runner_ = std::move(*next);
    submitted_.assign(runner_->groups(), 0);
  } else {
    result = next.error();
    if (next.error().code != Code::kInvalidArgument) fail(lock, next.error());
  }
  is_claimed_ = false;
  changed_.notify_all();
  return result;
}

// REQUIRES: claimed; all layers are done. An error that is kInvalidArgument is
// all ranks'.
Result<std::unique_ptr<Runner>> Context::Impl::plan_with(
    std::span<const double> densities) {
  std::vector<LayerOptions> layers = layers_;
  std::string refusal;
  if (next_ != 0) {
    refusal =
        "densities are set between two steps: some layers have been "
        "submitted in this one, and others not";
  } else if (densities.size() != layers.size()) {
    refusal = fmt::format("there are {} layers, and {} densities",
                          layers.size(), densities.size());
  } else {
    for (size_t i = 0; i < layers.size(); ++i) layers[i].density = densities[i];
  }
  const auto costs = agree(*transport_, options_, layers, refusal,
                           [this] { return failures_->heard(); });
  if (!costs) return Error(costs.error());
  auto next = Runner::make(*transport_, options_, layers);
  if (!next) return next;
  if (Status moved = (*next)->go_on_from(*runner_); !moved) {
    return std::move(moved).error();
  }
  layers_ = std::move(layers);
  return next;
}

ContextStats Context::Impl::stats() const {
  ContextStats stats;
  if (runner_ == nullptr) return stats;
  const Lock lock(mutex_);
  runner_->add_memory(stats);
  stats.sent_bytes = sent_bytes_;
  stats.wait_s = wait_s_;
  return stats;
}

void Context::Impl::run_thread() {
  Lock lock(mutex_);
  Pause pause;
  while (!is_stopped_ && !error_) {
    if (drive(lock)) {
      pause.reset();
    } else if (!is_claimed_ && runner_->is_busy()) {
      lock.unlock();
      pause.wait();
      lock.lock();
    } else {
      changed_.wait(lock, [this] {
        return is_stopped_ || error_ ||
               (!is_claimed_ && (runner_->is_busy() || is_ready(next_)));
      });
    }
  }
}

Context::Context(std::unique_ptr<Transport> transport,
                 const ContextOptions& options)
    : impl_(std::make_unique<Impl>(std::move(transport), options)) {}
Context::~Context() = default;
int Context::rank() const { return impl_->transport().rank(); }
int Context::size() const { return impl_->transport().size(); }
int Context::add_layer(LayerOptions layer) {
  return impl_->add_layer(std::move(layer));
}
void Context::refuse(const std::string& why) { impl_->refuse(why); }
Status Context::plan() { return impl_->plan(); }
Status Context::submit(int layer, std::span<float> gradient, Update& update) {
  return impl_->submit(layer, gradient, update);
}
bool Context::keeps_gradient(int layer) const {
  return impl_->runner().keeps_gradient(layer);
}
Result<bool> Context::poll(int layer) { return impl_->poll(layer); }
Status Context::wait(int layer) { return impl_->wait(layer); }
Status Context::set_densities(std::span<const double> densities) {
  return impl_->set_densities(densities);
}
void Context::fail(const std::string& why) { impl_->give_up(why); }
ContextStats Context::stats() const { return impl_->stats(); }
LayerStats Context::layer_stats(int layer) const {
  return impl_->runner().layer_stats(layer);
}
Context::LayerState Context::layer_state(int layer) const {
  return impl_->runner().state(layer);
}
Status Context::set_layer_state(int layer, const LayerState& state) {
  return impl_->runner().set_state(layer, state);
}

}  // namespace penstock::exchange
