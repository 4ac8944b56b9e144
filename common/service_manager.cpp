#include "common/service_manager.h"

#include <systemd/sd-daemon.h>

#include <algorithm>

#include "common/log.h"

namespace penstock {
namespace {

void tell(const std::string& state) {
  const int sent = ::sd_notify(0, state.c_str());
  if (sent < 0) log_debug("sd_notify: {}", std::strerror(-sent));
}

}  // namespace

void notify_ready(const std::string& status) {
  std::string line = status;
  std::replace(line.begin(), line.end(), '\n', ' ');
  tell("READY=1\nSTATUS=" + line);
}

void notify_reloading() { tell("RELOADING=1"); }

void notify_stopping() { tell("STOPPING=1"); }

Status feed_watchdog(EventLoop& loop) {
  uint64_t limit_us = 0;
  if (::sd_watchdog_enabled(0, &limit_us) <= 0) return Done{};
  const uint64_t period_ms = std::max<uint64_t>(limit_us / 2000, 1);
  Result<int> timer = loop.add_timer(period_ms, [] { tell("WATCHDOG=1"); });
  if (!timer) return std::move(timer).error();
  return Done{};
}

}  // namespace penstock
