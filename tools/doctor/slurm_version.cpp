#include "tools/doctor/slurm_version.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

#include "common/units.h"

namespace penstock::doctor {
namespace {

// Parses "22.05.8" at the front of the text.
std::optional<SlurmVersion> version_at(std::string_view text) {
  std::array<int, 3> parts{};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && (at == end || *at++ != '.')) return std::nullopt;
    const auto [after, error] = std::from_chars(at, end, parts[i]);
    if (error != std::errc() || parts[i] < 0 || parts[i] > 255) {
      return std::nullopt;
    }
    at = after;
  }
  return SlurmVersion{parts[0], parts[1], parts[2]};
}

}  // namespace

std::string SlurmVersion::to_string() const {
  return fmt::format("{}.{:02}.{}", major, minor, micro);
}

std::string SlurmVersion::release() const {
  return fmt::format("{}.{:02}", major, minor);
}

Result<SlurmVersion> parse_slurm_version(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const bool starts_word = i == 0 || text[i - 1] == ' ';
    if (!starts_word) continue;
    if (const auto version = version_at(text.substr(i))) return *version;
  }
  return invalid(quoted(text) + " names no version of Slurm");
}

SlurmVersion slurm_version_of(uint32_t plugin_version) {
  return {int(plugin_version >> 16), int(plugin_version >> 8 & 0xff),
          int(plugin_version & 0xff)};
}

}  // namespace penstock::doctor
