#include "loader/peer/blocked_thread.h"

#include <pthread.h>
#include <signal.h>

#include <system_error>
#include <utility>

namespace penstock {

Result<std::thread> start_blocked_thread(std::function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Result<std::thread> started = Error{};
  try {
    started = std::thread(std::move(body));
  } catch (const std::system_error& error) {
    started =
        Error{Code::kLimit, error.code().value(), "the system gives no thread"};
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace penstock
