// Threads in which no signal is delivered: those are the program's own.
#pragma once

#include <functional>
#include <thread>

#include "common/result.h"

namespace penstock {

// Errors: kLimit  the system gives no thread
[[nodiscard]] Result<std::thread> start_blocked_thread(
    std::function<void()> body);

}  // namespace penstock
