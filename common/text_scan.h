// Splits text into lines, words and parts; reads numbers. Pure. Uses the C++
// standard library only: a plugin includes it.
#pragma once

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

namespace penstock {

// Removes and returns the text before the next separator; removes that too.
inline std::string_view take_until(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

// Removes and returns the next line, without its newline.
inline std::string_view take_line(std::string_view& text) {
  return take_until(text, '\n');
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

// All parts, empty ones too; of an empty text one empty part.
inline std::vector<std::string_view> split(std::string_view text,
                                           char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

// False: the text is not a number from end to end, as std::from_chars() reads
// it; or the number is too large.
template <class T, class... Base>
bool to_number(std::string_view text, T& value, Base... base) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base...);
  return error == std::errc() && stop == end;
}

template <class T>
bool take_number(std::string_view& text, T& value) {
  return to_number(take_word(text), value);
}

}  // namespace penstock
