// Single-threaded epoll loop: descriptors and timers, each with a callback.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

class EventLoop {
 public:
  using Callback = std::function<void()>;

  static Result<EventLoop> create();

  // Calls back while fd is readable or hung up. The caller must keep fd open
  // until forget(fd).
  Status watch(int fd, Callback callback);
  void forget(int fd);

  // Calls back every period_ms, for the first time after one period. Returns
  // the timer's id for set_period(); a period of 0 pauses the timer.
  Result<int> add_timer(uint64_t period_ms, Callback callback);
  Status set_period(int timer, uint64_t period_ms);

  // Calls back at the end of each turn: after the callbacks of all descriptors
  // that were ready together. For work that many events cause and that is
  // needed once. Replaces an earlier callback.
  void at_turn_end(Callback callback) { turn_end_ = std::move(callback); }

  // Dispatches until stop() is called.
  // Errors: kIo  epoll_wait failed.
  Status run();
  void stop() { stopping_ = true; }

 private:
  struct Watch {
    Callback callback;
  };

  UniqueFd epoll_;
  std::map<int, std::shared_ptr<Watch>> watches_;
  std::map<int, UniqueFd> timers_;
  Callback turn_end_ = [] {};
  bool stopping_ = false;
};

}  // namespace penstock
