// What SIGTERM, SIGINT and SIGHUP do to a daemon.
#pragma once

#include <functional>

#include "common/event_loop.h"
#include "common/unique_fd.h"

namespace penstock {

// SIGTERM and SIGINT stop the loop; SIGHUP calls reload from it. Blocks the
// three in this thread. The result must live as long as the loop runs.
[[nodiscard]] Result<UniqueFd> watch_signals(EventLoop& loop,
                                             std::function<void()> reload);

}  // namespace penstock
