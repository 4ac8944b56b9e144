// Calls a function 20 times a second, in a thread of its own.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "loader/pipeline/event_count.h"

namespace penstock {

class ControlThread {
 public:
  ControlThread() = default;
  ~ControlThread() { stop(); }
  ControlThread(const ControlThread&) = delete;
  ControlThread& operator=(const ControlThread&) = delete;

  // Throws std::system_error if the thread cannot be created.
  void start(std::function<void()> work) {
    thread_ = std::thread([this, work = std::move(work)] { run(work); });
  }
  // Waits for a call in progress.
  void stop() {
    stopping_ = true;
    wakes_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  static constexpr uint64_t kPeriod_ns = 50000000;

  void run(const std::function<void()>& work) {
    pthread_setname_np(pthread_self(), "pst_control");
    while (!stopping_) {
      const uint32_t key = wakes_.prepare();
      work();
      if (!stopping_) wakes_.wait(key, kPeriod_ns);
    }
  }

  std::atomic<bool> stopping_{false};
  EventCount wakes_;
  std::thread thread_;
};

}  // namespace penstock
