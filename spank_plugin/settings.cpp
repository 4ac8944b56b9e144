#include "spank_plugin/settings.h"

#include <cstring>

#include "common/units.h"

namespace penstock::spank {
namespace {

constexpr double kMaxWeightLimit = 1000;
constexpr uint64_t kMaxTimeoutMs = 10000;
constexpr char kExact[] = "exact";  // the other choices change results

Error refused(std::string_view argument, const char* allowed) {
  return invalid("plugstack argument " + printable(argument) +
                 ": not valid; allowed: " + allowed);
}

template <size_t N>
bool store_path(std::string_view value, char (&field)[N]) {
  if (value.empty() || value.front() != '/' || value.size() >= N) return false;
  if (value.find('\0') != std::string_view::npos) return false;
  std::memset(field, 0, N);
  std::memcpy(field, value.data(), value.size());
  return true;
}

}  // namespace

Status apply_argument(std::string_view argument, Settings& settings) {
  const size_t equals = argument.find('=');
  const std::string_view key = argument.substr(0, equals);
  const std::string_view value =
      equals == std::string_view::npos ? "" : argument.substr(equals + 1);
  if (key == "socket") {
    if (!store_path(value, settings.socket_path))
      return refused(argument, "an absolute path under 108 bytes");
  } else if (key == "profile_dir") {
    if (!store_path(value, settings.profile_dir))
      return refused(argument, "an absolute path under 256 bytes");
  } else if (key == "hook_dir") {
    if (value.find(':') != value.npos || !store_path(value, settings.hook_dir))
      return refused(argument, "an absolute path under 256 bytes, without ':'");
  } else if (key == "elastic") {
    if (value != kExact) return refused(argument, kExact);
    std::memcpy(settings.elastic, kExact, sizeof kExact);
  } else if (key == "max_weight") {
    const auto weight = parse_number(value, 0.001, kMaxWeightLimit);
    if (!weight) return refused(argument, "0.001 to 1000");
    settings.limits.max_weight = *weight;
  } else if (key == "timeout_ms") {
    const auto timeout = parse_uint(value, 0, kMaxTimeoutMs);
    if (!timeout) return refused(argument, "0 to 10000");
    settings.timeout_ms = static_cast<int>(*timeout);
  } else {
    return refused(
        argument,
        "socket=, profile_dir=, hook_dir=, elastic=, max_weight= and "
        "timeout_ms=");
  }
  return Done{};
}

}  // namespace penstock::spank
