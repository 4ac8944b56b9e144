#include "cgroup/mounts.h"

#include <optional>
#include <utility>

#include "common/text_scan.h"
#include "common/units.h"

namespace penstock {
namespace {

// The kernel writes space, tab, newline and backslash as \040 and so on.
std::string unescape(std::string_view field) {
  auto octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string text;
  for (size_t i = 0; i < field.size(); ++i) {
    if (field[i] == '\\' && i + 3 < field.size() && octal(field[i + 1]) &&
        octal(field[i + 2]) && octal(field[i + 3])) {
      text += static_cast<char>((field[i + 1] - '0') * 64 +
                                (field[i + 2] - '0') * 8 + field[i + 3] - '0');
      i += 3;
    } else {
      text += field[i];
    }
  }
  return text;
}

}  // namespace

Result<std::vector<MountEntry>> parse_mounts(std::string_view text) {
  std::vector<MountEntry> entries;
  size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    auto fields = split(line, ' ');
    if (fields.size() != 6) {
      return invalid("mount table, line " + std::to_string(number) + ": \"" +
                     printable(line) + "\" has not 6 fields");
    }
    MountEntry entry{
        unescape(fields[0]), unescape(fields[1]), unescape(fields[2]), {}};
    for (std::string_view option : split(fields[3], ',')) {
      entry.options.emplace_back(option);
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

bool V1Mounts::cpu_with_cpuacct() const {
  auto cpu = path_of.find("cpu");
  auto cpuacct = path_of.find("cpuacct");
  return cpu != path_of.end() && cpuacct != path_of.end() &&
         cpu->second == cpuacct->second;
}

std::optional<std::string> mount_below(std::string_view target,
                                       std::string_view root) {
  while (root.ends_with('/')) root.remove_suffix(1);
  if (!target.starts_with(root)) return {};
  target.remove_prefix(root.size());
  if (target.size() < 2 || target[0] != '/') return {};
  return std::string(target.substr(1));
}

}  // namespace penstock
