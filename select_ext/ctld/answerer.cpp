#include "select_ext/ctld/answerer.h"

#include <chrono>

#include "common/blocked_thread.h"
#include "common/clock.h"

namespace penstock {
namespace {

// Between looks at users who have spent their budget.
constexpr std::chrono::milliseconds kLookAgain(20);

}  // namespace

Result<std::unique_ptr<Answerer>> Answerer::start(Build build, Reply reply) {
  std::unique_ptr<Answerer> it(
      new Answerer(std::move(build), std::move(reply)));
  Result<std::thread> thread =
      start_blocked_thread([raw = it.get()] { raw->serve(); });
  if (!thread) return std::move(thread).error();
  it->thread_ = *std::move(thread);
  return it;
}

Answerer::~Answerer() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Answerer::ask(Question question) {
  const uid_t uid = question.arrived.uid;
  Status taken = Done{};
  {
    const std::lock_guard lock(mutex_);
    taken = queue_.put(uid, std::move(question), monotonic_ns());
  }
  // put() leaves a question that it refuses.
  // NOLINTNEXTLINE(bugprone-use-after-move)
  if (!taken) return reply_(question.arrived, std::move(taken).error());
  changed_.notify_all();
}

void Answerer::serve() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    auto next = queue_.next(monotonic_ns());
    if (next) {
      lock.unlock();
      answer(*std::move(next));
      lock.lock();
    } else if (queue_.size() > 0) {
      changed_.wait_for(lock, kLookAgain);
    } else {
      changed_.wait(lock);
    }
  }
}

void Answerer::answer(UserQueue<Question>::Next next) {
  const Arrived& arrived = next.item.arrived;
  if (!next.may_be_served) {
    return reply_(arrived, std::move(next.may_be_served).error());
  }
  const uint64_t begun_ns = monotonic_ns();
  reply_(arrived, build_(next.item));
  const uint64_t now_ns = monotonic_ns();
  const std::lock_guard lock(mutex_);
  queue_.charge(next.uid, now_ns - begun_ns, now_ns);
}

}  // namespace penstock
