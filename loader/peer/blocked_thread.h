// Threads with all signals blocked: signals belong to the program's own
// threads.
#pragma once

#include <functional>
#include <thread>

#include "common/result.h"

namespace penstock {

// Errors: kLimit  the thread cannot be created
[[nodiscard]] Result<std::thread> start_blocked_thread(
    std::function<void()> body);

}  // namespace penstock
