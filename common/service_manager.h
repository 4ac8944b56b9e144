// Notifications to systemd from a daemon with Type=notify (sd_notify(3)).
// Without NOTIFY_SOCKET the functions do nothing. Not for child processes:
// systemd accepts notifications only from the main process.
#pragma once

#include <string>

#include "common/event_loop.h"
#include "common/result.h"

namespace penstock {

// The daemon serves (again, after notify_reloading()). status: a line for
// `systemctl status`; line ends in it become blanks.
void notify_ready(const std::string& status);
void notify_reloading();
void notify_stopping();

// Sends a keep-alive twice per WatchdogSec= from the loop itself, so that
// systemd detects a hanging loop. Does nothing without WatchdogSec=.
// Errors: those of EventLoop::add_timer().
Status feed_watchdog(EventLoop& loop);

}  // namespace penstock
