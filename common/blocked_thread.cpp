#include "common/blocked_thread.h"

#include <system_error>
#include <utility>

namespace penstock {

Result<std::thread> start_blocked_thread(std::function<void()> body) {
  const BlockedSignals blocked;
  try {
    return std::thread(std::move(body));
  } catch (const std::system_error& error) {
    return Error{Code::kUnavailable, error.code().value(),
                 std::string("a thread cannot be started: ") +
                     std::strerror(error.code().value())};
  }
}

}  // namespace penstock
