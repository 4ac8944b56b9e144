#include "common/config_lines.h"


#include "common/text_scan.h"
#include "common/units.h"

namespace penstock {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < ' ' && !is_blank(c)) || c == 0x7f;
}

Error at_line(const std::string& file_name, int line, const std::string& why) {
  return invalid(file_name + ":" + std::to_string(line) + ": " + why);
}

// A physical line without its comment. A '#' between quotes is text.
std::string_view strip_comment(std::string_view line) {
  bool in_quotes = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') in_quotes = !in_quotes;
    if (line[i] == '#' && !in_quotes) return line.substr(0, i);
  }
  return line;
}

// Removes a trailing backslash; true if the line had one (it continues).
bool take_continuation(std::string_view& line) {
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  if (line.empty() || line.back() != '\\') return false;
  line.remove_suffix(1);
  return true;
}

// Removes one "Key=value" or "Key=\"some value\"" from the front of text, which
// must not begin with a blank. Errors lack file name and line.
Result<Setting> take_setting(std::string_view& text) {
  size_t end = 0;
  while (end < text.size() && !is_blank(text[end]) && text[end] != '=') ++end;
  if (end == 0 || end == text.size() || text[end] != '=')
    return invalid(quoted(text.substr(0, end)) +
                   " is not a setting; allowed: Key=value without spaces");
  Setting setting;
  setting.key = text.substr(0, end);
  text.remove_prefix(end + 1);
  const bool in_quotes = !text.empty() && text.front() == '"';
  if (in_quotes) text.remove_prefix(1);
  end = 0;
  while (end < text.size() &&
         (in_quotes ? text[end] != '"' : !is_blank(text[end])))
    ++end;
  setting.value = text.substr(0, end);
  text.remove_prefix(end);
  if (!in_quotes) return setting;
  if (text.empty())
    return invalid(printable(setting.key) + "=" + quoted(setting.value) +
                   ": open quote; allowed: a closing '\"' on the same line");
  text.remove_prefix(1);
  if (!text.empty() && !is_blank(text.front()))
    return invalid("text follows the closing quote of " +
                   printable(setting.key) + "; allowed: a blank");
  return setting;
}

// Splits one logical line into settings. Errors lack file name and line.
Result<std::vector<Setting>> split_line(std::string_view text) {
  std::vector<Setting> settings;
  while (true) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    if (text.empty()) return settings;
    Result<Setting> setting = take_setting(text);
    if (!setting) return std::move(setting).error();
    settings.push_back(std::move(*setting));
  }
}

}  // namespace

Result<std::vector<SettingLine>> split_config(std::string_view text,
                                              const std::string& file_name) {
  std::vector<SettingLine> lines;
  std::string joined;
  int number = 0, first = 1;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    ++number;
    for (char c : line)
      if (is_control(c))
        return at_line(file_name, number,
                       "control character; allowed: plain text");
    line = strip_comment(line);
    if (joined.empty()) first = number;
    const bool goes_on = take_continuation(line);
    joined += line;
    if (goes_on && !text.empty()) {
      joined += ' ';
      continue;
    }
    Result<std::vector<Setting>> settings = split_line(joined);
    if (!settings) return at_line(file_name, first, settings.error().message);
    if (!settings->empty()) lines.push_back({first, std::move(*settings)});
    joined.clear();
  }
  return lines;
}

}  // namespace penstock
