#include "loader/peer/peer_chores.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "common/blocked_thread.h"

namespace penstock {
namespace {

constexpr size_t kMostChores = 1024;

}  // namespace

struct PeerChores::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Chore> waiting;
  std::deque<Then> done;
  std::function<void()> wake;  // empty: the PeerChores was destroyed
};

PeerChores::PeerChores(std::function<void()> wake)
    : state_(std::make_shared<State>()) {
  state_->wake = std::move(wake);
}

PeerChores::~PeerChores() {
  const std::lock_guard lock(state_->mutex);
  state_->wake = nullptr;
  state_->waiting.clear();
  state_->changed.notify_all();
}

void PeerChores::work(State& state) {
  std::unique_lock lock(state.mutex);
  while (true) {
    state.changed.wait(lock,
                       [&] { return !state.wake || !state.waiting.empty(); });
    if (!state.wake) return;
    const Chore chore = std::move(state.waiting.front());
    state.waiting.pop_front();
    lock.unlock();
    Then then = chore();
    lock.lock();
    if (!state.wake) return;
    state.done.push_back(std::move(then));
    state.wake();
  }
}

bool PeerChores::add(Chore chore) {
  if (!has_thread_) {
    auto thread = start_blocked_thread([state = state_] { work(*state); });
    if (!thread) return false;
    thread->detach();
    has_thread_ = true;
  }
  const std::lock_guard lock(state_->mutex);
  if (state_->waiting.size() >= kMostChores) return false;
  state_->waiting.push_back(std::move(chore));
  state_->changed.notify_all();
  return true;
}

void PeerChores::finish() {
  std::deque<Then> done;
  {
    const std::lock_guard lock(state_->mutex);
    done.swap(state_->done);
  }
  for (const Then& then : done) {
    if (then) then();
  }
}

}  // namespace penstock
