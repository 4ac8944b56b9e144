// Progress of a context's exchanges, in the caller's thread or the context's
// own.
#include <fmt/format.h>

#include "exchange/context/context.h"
#include "exchange/context/pause.h"

namespace penstock::exchange {
namespace {

using Clock = std::chrono::steady_clock;
// Longest wait for a notification: drive() may release its claim without one.
constexpr auto kLook = std::chrono::milliseconds(10);

}  // namespace

void Context::claim(Lock& lock) {
  while (is_claimed_) changed_.wait_for(lock, kLook);
  is_claimed_ = true;
}

// If it is the turn of a sparse layer, begins its exchange in the same pass
// over the gradient. Not on a device, which may not have computed the gradient
// yet.
void Context::take(Lock& lock, int layer, std::span<float> gradient,
                   Update& update, void* stream) {
  const size_t group = runner_->group_of(layer);
  const bool begins = !is_claimed_ && !runner_->is_busy() && next_ == group &&
                      options_.device == nullptr &&
                      runner_->group(group).method != Method::kDense;
  is_done_[size_t(layer)] = false;
  if (begins) is_claimed_ = true;
  lock.unlock();
  Status begun = Done{};
  if (begins) {
    watch_.begin(Clock::now());
    begun = runner_->take_and_begin(layer, gradient, update);
  } else {
    runner_->take(layer, gradient, update, stream);
  }
  lock.lock();
  ++submitted_[group];
  if (!begun) fail(lock, std::move(begun).error());
  if (begins) is_claimed_ = false;
  changed_.notify_all();
}

// Advances as far as possible without waiting for messages. Returns whether
// anything moved, even a single message.
bool Context::drive(Lock& lock) {
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

// Begins the next group, or advances it; true: it was begun, or is done.
// REQUIRES: claimed, without the lock.
Result<bool> Context::step(bool begins) {
  if (begins) {
    watch_.begin(Clock::now());
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

// Checks a stalled exchange for failed ranks and for the time-out.
Status Context::watch() {
  if (!watch_.is_due(Clock::now())) return Done{};
  if (const auto failure = failures_->heard()) {
    return Error{Code::kUnavailable, 0, *failure};
  }
  const auto taken_s = watch_.overdue_s();
  if (!taken_s) return Done{};
  const std::string missing = runner_->missing();
  return Error{
      Code::kUnavailable, 0,
      fmt::format("the exchange of layer {} is not done after {:.0f} s: {} "
                  "has not answered; has it ended, or does it submit other "
                  "layers?",
                  runner_->name(runner_->group(next_).layers[0]), *taken_s,
                  missing.empty() ? "some rank" : missing)};
}

void Context::finish_group() {
  sent_bytes_ += runner_->sent_bytes();
  for (const int layer : runner_->group(next_).layers) {
    is_done_[size_t(layer)] = true;
  }
  submitted_[next_] = 0;
  next_ = (next_ + 1) % submitted_.size();
}

// Makes the context unusable. Tells the other ranks, except of kUnavailable: a
// rank's failure, or a time-out. REQUIRES: claimed.
void Context::fail(Lock& lock, Error error) {
  if (error_) return;
  const bool is_theirs = error.code == Code::kUnavailable;
  error_ = std::move(error);
  if (is_theirs) return;
  lock.unlock();
  failures_->tell(error_->message);
  lock.lock();
}

void Context::run_thread() {
  if (options_.device != nullptr) options_.device->enter_thread();
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

}  // namespace penstock::exchange
