#include "common/log.h"

#include <unistd.h>

#include <atomic>

namespace penstock {
namespace {
std::atomic<LogLevel> g_level{LogLevel::kInfo};
std::atomic<const char*> g_name{"penstockd"};
}  // namespace

void set_log_level(LogLevel level) { g_level = level; }

void set_log_name(const char* name) { g_name = name; }

LogLevel log_level_named(std::string_view name) {
  if (name == "error") return LogLevel::kError;
  if (name == "warning") return LogLevel::kWarning;
  if (name == "debug") return LogLevel::kDebug;
  return LogLevel::kInfo;
}

void log_line(LogLevel level, std::string_view text) {
  if (level > g_level.load()) return;
  const std::string line =
      fmt::format("<{}>{}: {}\n", static_cast<int>(level), g_name.load(), text);
  // A single write keeps lines of the guardian and the daemon separate.
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace penstock
