// Splits the text of kernel files into lines and words. Pure.
#pragma once

#include <algorithm>
#include <string_view>

namespace penstock {

// Removes and returns the next line, without its newline.
inline std::string_view take_line(std::string_view& text) {
  size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// Removes and returns the next word; empty at the end.
inline std::string_view take_word(std::string_view& text) {
  constexpr std::string_view kSpace = " \t\n";
  text.remove_prefix(std::min(text.find_first_not_of(kSpace), text.size()));
  size_t end = std::min(text.find_first_of(kSpace), text.size());
  std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

inline bool has_word(std::string_view text, std::string_view word) {
  for (std::string_view next = take_word(text); !next.empty();
       next = take_word(text)) {
    if (next == word) return true;
  }
  return false;
}

}  // namespace penstock
