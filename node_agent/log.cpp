#include "node_agent/log.h"

#include <unistd.h>

#include <atomic>

namespace penstock {
namespace {
std::atomic<LogLevel> g_level{LogLevel::kInfo};
}

void set_log_level(LogLevel level) { g_level = level; }

LogLevel log_level_named(std::string_view name) {
  if (name == "error") return LogLevel::kError;
  if (name == "warning") return LogLevel::kWarning;
  if (name == "debug") return LogLevel::kDebug;
  return LogLevel::kInfo;
}

void log_line(LogLevel level, std::string_view text) {
  if (level > g_level.load()) return;
  const std::string line =
      fmt::format("<{}>penstockd: {}\n", static_cast<int>(level), text);
  // One write: lines of the guardian and of the daemon do not mix.
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace penstock
