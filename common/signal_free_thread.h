// Threads with all signals blocked: the daemon's event loop receives them.
#pragma once

#include <functional>
#include <thread>

#include "common/result.h"

namespace penstock {

// Errors: kUnavailable  the system cannot start a thread
[[nodiscard]] Result<std::thread> start_signal_free_thread(
    std::function<void()> body);

}  // namespace penstock
