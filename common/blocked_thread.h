// Threads with all signals blocked: signals belong to the program's own
// threads.
#pragma once

#include <signal.h>

#include <functional>
#include <thread>

#include "common/result.h"

namespace penstock {

// Blocks all signals in the calling thread for its lifetime; threads started
// meanwhile inherit that.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

// Errors: kUnavailable  the thread cannot be started
[[nodiscard]] Result<std::thread> start_blocked_thread(
    std::function<void()> body);

}  // namespace penstock
