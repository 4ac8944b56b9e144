// One thread, one epoll: descriptors, timers and signals with a callback each.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

class EventLoop {
 public:
  using Callback = std::function<void()>;

  static Result<EventLoop> create();

  // Calls back while fd is readable (or hung up). The caller keeps fd open
  // until forget(fd).
  Status watch(int fd, Callback callback);
  void forget(int fd);

  // Calls back every period_ms, first after one period. Returns the timer's
  // id for set_period() (0 ms pauses it).
  Result<int> add_timer(uint64_t period_ms, Callback callback);
  Status set_period(int timer, uint64_t period_ms);

  // Calls back once, after the callback that is running now has returned.
  void defer(Callback callback) { deferred_.push_back(std::move(callback)); }

  // Dispatches until stop() is called.
  // Errors: kIo  epoll_wait failed.
  Status run();
  void stop() { stopping_ = true; }

 private:
  void run_deferred();

  struct Watch {
    Callback callback;
  };

  UniqueFd epoll_;
  std::map<int, std::shared_ptr<Watch>> watches_;
  std::map<int, UniqueFd> timers_;
  std::vector<Callback> deferred_;
  bool stopping_ = false;
};

}  // namespace penstock
