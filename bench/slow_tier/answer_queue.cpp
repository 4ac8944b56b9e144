#include "bench/slow_tier/answer_queue.h"

#include <chrono>
#include <utility>

namespace penstock {
namespace {

// came_ns is from CLOCK_MONOTONIC, which steady_clock uses as well.
std::chrono::steady_clock::time_point at(uint64_t monotonic_ns) {
  return std::chrono::steady_clock::time_point(
      std::chrono::nanoseconds(monotonic_ns));
}

}  // namespace

AnswerQueue::AnswerQueue(const AnswerTimes& times, size_t workers)
    : times_(times) {
  for (size_t i = 0; i < workers; ++i) {
    workers_.emplace_back([this] { run_worker(); });
  }
  answerer_ = std::thread([this] { run_answers(); });
}

AnswerQueue::~AnswerQueue() {
  {
    const std::lock_guard lock(work_mutex_);
    work_ends_ = true;
  }
  work_wakes_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  {
    const std::lock_guard lock(answer_mutex_);
    answers_end_ = true;
  }
  answer_wakes_.notify_one();
  answerer_.join();
}

void AnswerQueue::add(uint64_t came_ns, Work work) {
  {
    const std::lock_guard lock(work_mutex_);
    work_.push_back({came_ns, std::move(work)});
  }
  work_wakes_.notify_one();
}

void AnswerQueue::run_worker() {
  std::unique_lock lock(work_mutex_);
  while (true) {
    work_wakes_.wait(lock, [this] { return work_ends_ || !work_.empty(); });
    if (work_.empty()) return;
    const Request request = std::move(work_.front());
    work_.pop_front();
    lock.unlock();
    SlowAnswer answer = request.work();
    {
      const std::lock_guard answer_lock(answer_mutex_);
      const uint64_t due_ns = times_.due_ns(request.came_ns, answer.bytes);
      answers_.emplace(due_ns, std::move(answer));
    }
    answer_wakes_.notify_one();
    lock.lock();
  }
}

void AnswerQueue::run_answers() {
  std::unique_lock lock(answer_mutex_);
  while (!answers_end_ || !answers_.empty()) {
    if (answers_.empty()) {
      answer_wakes_.wait(lock);
      continue;
    }
    const auto first = answers_.begin();
    const auto due = at(first->first);
    if (!answers_end_ && std::chrono::steady_clock::now() < due) {
      answer_wakes_.wait_until(lock, due);
      continue;
    }
    const SlowAnswer answer = std::move(first->second);
    answers_.erase(first);
    lock.unlock();
    answer.give();
    lock.lock();
  }
}

}  // namespace penstock
