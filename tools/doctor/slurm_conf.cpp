#include "tools/doctor/slurm_conf.h"

#include <strings.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>

namespace penstock::doctor {
namespace {

constexpr size_t kMaxFiles = 100;
constexpr std::string_view kBlanks = " \t\r";

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

void skip_blanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
}

std::string_view take_until(std::string_view& text, std::string_view stop) {
  const size_t end = std::min(text.find_first_of(stop), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end);
  return taken;
}

// A logical line: without its comment, joined with backslash continuations.
struct Line {
  int number = 0;  // of its first physical line
  std::string text;
};

std::string_view without_comment(std::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && (i == 0 || line[i - 1] != '\\')) {
      return line.substr(0, i);
    }
  }
  return line;
}

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> lines;
  bool goes_on = false;
  for (int number = 1; !text.empty(); ++number) {
    std::string_view line = without_comment(take_until(text, "\n"));
    text.remove_prefix(std::min<size_t>(1, text.size()));
    line = line.substr(0, line.find_last_not_of(kBlanks) + 1);
    if (!goes_on) lines.push_back({number, ""});
    goes_on = line.ends_with('\\');
    if (goes_on) line.remove_suffix(1);
    lines.back().text += line;
  }
  return lines;
}

// The file or pattern of "Include FILE".
std::optional<std::string> included(std::string_view line) {
  skip_blanks(line);
  if (!same(take_until(line, kBlanks), "include")) return std::nullopt;
  skip_blanks(line);
  return std::string(line);
}

std::string beside(const std::string& file, const std::string& name) {
  return (std::filesystem::path(file).parent_path() / name).string();
}

// Takes "Key = value" off the front; nullopt for a word without '='.
std::optional<SlurmSetting> take_setting(std::string_view& text) {
  SlurmSetting setting;
  setting.key = take_until(text, " \t\r=");
  skip_blanks(text);
  if (text.empty() || text.front() != '=') return std::nullopt;
  text.remove_prefix(1);
  skip_blanks(text);
  if (!text.empty() && text.front() == '"') {
    text.remove_prefix(1);
    setting.value = take_until(text, "\"");
    text.remove_prefix(std::min<size_t>(1, text.size()));
  } else {
    setting.value = take_until(text, kBlanks);
  }
  return setting;
}

void take_settings(const Line& line, const std::string& file, SlurmConf& conf) {
  std::string_view rest = line.text;
  for (skip_blanks(rest); !rest.empty(); skip_blanks(rest)) {
    auto setting = take_setting(rest);
    if (!setting) continue;
    setting->file = file;
    setting->line = line.number;
    conf.settings.push_back(*std::move(setting));
  }
}

Status count_file(size_t& files, const std::string& path) {
  if (++files <= kMaxFiles) return Done{};
  return Error{Code::kLimit, 0,
               path + ": includes over " + std::to_string(kMaxFiles) +
                   " files, or itself"};
}

Status add_file(const std::string& path, const ReadText& read, SlurmConf& conf,
                size_t& files) {
  Status counted = count_file(files, path);
  if (!counted) return counted;
  Result<std::string> text = read(path);
  if (!text) return std::move(text).error();
  for (const Line& line : lines_of(*text)) {
    const auto file = included(line.text);
    if (!file) {
      take_settings(line, path, conf);
      continue;
    }
    Status added = add_file(beside(path, *file), read, conf, files);
    if (!added) return added;
  }
  return Done{};
}

Status add_plugstack(const std::string& path, const ReadText& read,
                     const ExpandGlob& expand,
                     std::vector<PlugstackLine>& lines, size_t& files) {
  Status counted = count_file(files, path);
  if (!counted) return counted;
  Result<std::string> text = read(path);
  if (!text) return std::move(text).error();
  for (const Line& line : lines_of(*text)) {
    if (const auto pattern = included(line.text)) {
      for (const std::string& file : expand(beside(path, *pattern))) {
        Status added = add_plugstack(file, read, expand, lines, files);
        if (!added) return added;
      }
      continue;
    }
    std::string_view rest = line.text;
    skip_blanks(rest);
    const std::string_view word = take_until(rest, kBlanks);
    if (!same(word, "required") && !same(word, "optional")) continue;
    skip_blanks(rest);
    PlugstackLine& added = lines.emplace_back();
    added.required = same(word, "required");
    added.plugin = take_until(rest, kBlanks);
    added.file = path;
    added.line = line.number;
    for (skip_blanks(rest); !rest.empty(); skip_blanks(rest)) {
      added.arguments.emplace_back(take_until(rest, kBlanks));
    }
  }
  return Done{};
}

}  // namespace

const SlurmSetting* SlurmConf::find(std::string_view key) const {
  const auto found =
      std::find_if(settings.rbegin(), settings.rend(),
                   [&](const SlurmSetting& it) { return same(it.key, key); });
  return found == settings.rend() ? nullptr : &*found;
}

std::string SlurmConf::value_or(std::string_view key,
                                std::string fallback) const {
  const SlurmSetting* found = find(key);
  return found ? found->value : std::move(fallback);
}

Result<SlurmConf> read_slurm_conf(const std::string& path,
                                  const ReadText& read) {
  SlurmConf conf;
  size_t files = 0;
  Status added = add_file(path, read, conf, files);
  if (!added) return std::move(added).error();
  return conf;
}

Result<std::vector<PlugstackLine>> read_plugstack(const std::string& path,
                                                  const ReadText& read,
                                                  const ExpandGlob& expand) {
  std::vector<PlugstackLine> lines;
  size_t files = 0;
  Status added = add_plugstack(path, read, expand, lines, files);
  if (!added) return std::move(added).error();
  return lines;
}

bool names_plugin(std::string_view list, std::string_view type,
                  std::string_view name) {
  while (!list.empty()) {
    std::string_view each = take_until(list, ",");
    list.remove_prefix(std::min<size_t>(1, list.size()));
    const size_t slash = each.find('/');
    if (slash != each.npos && same(each.substr(0, slash), type)) {
      each.remove_prefix(slash + 1);
    }
    if (same(each, name)) return true;
  }
  return false;
}

}  // namespace penstock::doctor
