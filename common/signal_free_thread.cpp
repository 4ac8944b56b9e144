#include "common/signal_free_thread.h"

#include <pthread.h>
#include <signal.h>

#include <system_error>

namespace penstock {

Result<std::thread> start_signal_free_thread(std::function<void()> body) {
  // A thread inherits its creator's signal mask.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread;
  int error = 0;
  try {
    thread = std::thread(std::move(body));
  } catch (const std::system_error& thrown) {
    error = thrown.code().value();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    Error failed = system_error(error, "a thread cannot be started");
    failed.code = Code::kUnavailable;
    return failed;
  }
  return thread;
}

}  // namespace penstock
