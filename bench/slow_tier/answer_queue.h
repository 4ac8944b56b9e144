// Work that is done immediately, with answers delayed until they are due.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "bench/slow_tier/answer_times.h"

namespace penstock {

struct SlowAnswer {
  uint64_t bytes = 0;  // of data, which pass through the pipe
  std::function<void()> give;
};

// Several threads work, one gives the answers. So neither the latency nor the
// number of waiting requests limits the number in progress.
class AnswerQueue {
 public:
  using Work = std::function<SlowAnswer()>;

  AnswerQueue(const AnswerTimes& times, size_t workers);
  // Completes all queued work and gives the remaining answers immediately.
  ~AnswerQueue();
  AnswerQueue(const AnswerQueue&) = delete;
  AnswerQueue& operator=(const AnswerQueue&) = delete;

  // came_ns: in CLOCK_MONOTONIC. Thread-safe.
  void add(uint64_t came_ns, Work work);

 private:
  struct Request {
    uint64_t came_ns;
    Work work;
  };
  void run_worker();
  void run_answers();

  std::mutex work_mutex_;
  std::condition_variable work_wakes_;
  std::deque<Request> work_;
  bool work_ends_ = false;

  std::mutex answer_mutex_;
  std::condition_variable answer_wakes_;
  AnswerTimes times_;
  std::multimap<uint64_t, SlowAnswer> answers_;  // by due time
  bool answers_end_ = false;

  std::vector<std::thread> workers_;
  std::thread answerer_;
};

}  // namespace penstock
