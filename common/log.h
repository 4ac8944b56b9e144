// Writes log lines "<N>NAME: text" to standard error, for the journal.
// Thread-safe.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace penstock {

enum class LogLevel { kError = 3, kWarning = 4, kInfo = 6, kDebug = 7 };

// Drops lines above this level. Process-wide: a daemon has one log.
void set_log_level(LogLevel level);
// Sets NAME, default "penstockd". name: a literal.
void set_log_name(const char* name);
LogLevel log_level_named(std::string_view name);  // unknown: kInfo
void log_line(LogLevel level, std::string_view text);

template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kError, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kWarning,
           fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kDebug, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace penstock
