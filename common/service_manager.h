// What systemd hears of a daemon whose unit has Type=notify (sd_notify(3)).
// Where nobody listens, without NOTIFY_SOCKET, nothing is sent and nothing
// fails. Not for child processes: systemd believes the main one alone.
#pragma once

#include <string>

#include "common/event_loop.h"
#include "common/result.h"

namespace penstock {

// It serves; also after notify_reloading(). status: a line for systemctl
// status; line ends in it become blanks.
void notify_ready(const std::string& status);
void notify_reloading();
void notify_stopping();

// Says that the daemon is alive, twice in the time that WatchdogSec= allows,
// from the loop itself: a loop that hangs is heard no more. Without
// WatchdogSec= it does nothing.
// Errors: those of EventLoop::add_timer().
Status feed_watchdog(EventLoop& loop);

}  // namespace penstock
