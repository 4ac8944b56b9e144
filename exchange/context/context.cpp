#include "exchange/context/context.h"

#include <fmt/format.h>

#include <algorithm>

#include "exchange/context/agree.h"
#include "exchange/context/pause.h"

namespace penstock::exchange {

Context::Context(std::unique_ptr<Transport> transport,
                 const ContextOptions& options)
    : transport_(std::move(transport)),
      options_(options),
      watch_(options.timeout_s, std::chrono::steady_clock::now()) {}

Context::~Context() {
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
  // MPI may still write into buffers of pending operations.
  if (runner_->is_busy()) runner_->abandon();
  if (options_.device != nullptr) (void)options_.device->reserve(0, 0);
}

int Context::add_layer(LayerOptions layer) {
  layers_.push_back(std::move(layer));
  return static_cast<int>(layers_.size()) - 1;
}

Status Context::plan() {
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

Status Context::check_layer(int layer) const {
  if (runner_ == nullptr) return invalid("plan() was not called");
  if (layer >= 0 && size_t(layer) < is_done_.size()) return Done{};
  return invalid(fmt::format("there is no layer {}: {} were added", layer,
                             is_done_.size()));
}

Status Context::check_submit(int layer, std::span<float> gradient) const {
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

Status Context::submit(int layer, std::span<float> gradient, Update& update,
                       void* stream) {
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
  take(lock, layer, gradient, update, stream);
  if (!thread_.joinable()) drive(lock);
  return error_ ? Status(Error(*error_)) : Done{};
}

Status Context::result_of(int layer) const {
  if (runner_->was_finite(layer)) return Done{};
  return invalid(fmt::format(
      "the gradient of layer {} was infinite or no number on some rank: its "
      "sums were not applied",
      runner_->name(layer)));
}

Error Context::not_submitted(int layer) const {
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

Result<bool> Context::poll(int layer) {
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

Status Context::wait(int layer) {
  if (Status known = check_layer(layer); !known) return known;
  const auto start = std::chrono::steady_clock::now();
  Lock lock(mutex_);
  Status result = wait_locked(lock, layer);
  const auto end = std::chrono::steady_clock::now();
  wait_s_ += std::chrono::duration<double>(end - start).count();
  return result;
}

void Context::fail(const std::string& why) {
  Lock lock(mutex_);
  claim(lock);
  fail(lock, Error{Code::kInvalidArgument, 0, why});
  is_claimed_ = false;
  changed_.notify_all();
}

Status Context::wait_locked(Lock& lock, int layer) {
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

Status Context::set_densities(std::span<const double> densities) {
  Lock lock(mutex_);
  for (size_t layer = 0; layer < layers_.size(); ++layer) {
    // Ignored: wait() or poll() of the layer reports a non-finite gradient.
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

// REQUIRES: claimed; all layers are done. kInvalidArgument is returned on all
// ranks.
Result<std::unique_ptr<Runner>> Context::plan_with(
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

ContextStats Context::stats() const {
  ContextStats stats;
  if (runner_ == nullptr) return stats;
  const Lock lock(mutex_);
  runner_->add_memory(stats);
  stats.sent_bytes = sent_bytes_;
  stats.wait_s = wait_s_;
  return stats;
}

}  // namespace penstock::exchange
