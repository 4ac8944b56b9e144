// Threads in which no signal is delivered: those are for the daemon's own loop.
#pragma once

#include <functional>
#include <thread>

#include "common/result.h"

namespace penstock {

// Errors: kUnavailable  the system has no thread for us
[[nodiscard]] Result<std::thread> start_signal_free_thread(
    std::function<void()> body);

}  // namespace penstock
