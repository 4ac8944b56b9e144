#include "loader/data/path_pattern.h"

#include <glob.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>

#include "common/text_scan.h"

namespace penstock {
namespace {

using Paths = std::vector<std::string>;

Error too_many(const std::string& pattern) {
  return invalid(pattern + ": over 1,000,000 paths");
}

// "08..12"; false: it is no range.
bool read_range(std::string_view text, uint32_t& first, uint32_t& last,
                size_t& digits) {
  const size_t dots = text.find("..");
  if (dots == text.npos) return false;
  digits = dots;
  return to_number(text.substr(0, dots), first) &&
         to_number(text.substr(dots + 2), last);
}

std::string padded(uint32_t number, size_t digits) {
  const std::string text = std::to_string(number);
  return std::string(digits > text.size() ? digits - text.size() : 0, '0') +
         text;
}

// What the text between two braces stands for; false: for itself.
bool read_choices(std::string_view text, Paths& choices) {
  uint32_t first = 0, last = 0;
  size_t digits = 0;
  if (read_range(text, first, last, digits)) {
    const uint32_t count = first < last ? last - first : first - last;
    for (uint32_t i = 0; i <= count && choices.size() <= kMostPaths; ++i) {
      choices.push_back(padded(first < last ? first + i : first - i, digits));
    }
    return true;
  }
  if (text.find(',') == text.npos) return false;
  for (const std::string_view part : split(text, ',')) {
    choices.emplace_back(part);
  }
  return true;
}

// Replaces each by itself with each choice in place of [begin, end).
Paths with_choices(const Paths& choices, const std::string& pattern,
                   size_t begin, size_t end) {
  Paths out;
  for (const std::string& choice : choices) {
    out.push_back(pattern.substr(0, begin) + choice + pattern.substr(end));
  }
  return out;
}

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

// The files of a pattern of the shell; none: it is none, or there are none.
Paths globbed(const std::string& pattern) {
  Paths out;
  if (pattern.find_first_of("*?[") == pattern.npos) return out;
  glob_t found{};
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  ::globfree(&found);
  return out;
}

}  // namespace

Result<Paths> expand_braces(const std::string& pattern) {
  for (size_t begin = pattern.find('{'); begin != pattern.npos;
       begin = pattern.find('{', begin + 1)) {
    const size_t end = pattern.find('}', begin);
    if (end == pattern.npos) break;
    Paths choices;
    const std::string_view inside =
        std::string_view(pattern).substr(begin + 1, end - begin - 1);
    if (!read_choices(inside, choices)) continue;
    Paths out;
    for (const std::string& one :
         with_choices(choices, pattern, begin, end + 1)) {
      Result<Paths> further = expand_braces(one);
      if (!further) return further;
      if (out.size() + further->size() > kMostPaths) return too_many(pattern);
      out.insert(out.end(), further->begin(), further->end());
    }
    return out;
  }
  return Paths{pattern};
}

Result<Paths> expand_paths(const Paths& paths) {
  Paths out;
  for (const std::string& path : paths) {
    if (exists(path)) {
      out.push_back(path);
      continue;
    }
    Result<Paths> expanded = expand_braces(path);
    if (!expanded) return expanded;
    for (const std::string& one : *expanded) {
      const Paths files = globbed(one);
      if (files.empty()) out.push_back(one);  // its opener says what is wrong
      out.insert(out.end(), files.begin(), files.end());
    }
  }
  return out;
}

}  // namespace penstock
