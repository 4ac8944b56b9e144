// Texts in fixed-size message fields: NUL-padded, but not NUL-terminated if
// they fill the field. Pure.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include "common/utf8.h"

namespace penstock {

// Text of a field.
template <size_t N>
std::string_view fixed_text(const char (&field)[N]) {
  return {field, strnlen(field, N)};
}

// Copies at most N bytes of text and fills the rest with NULs.
template <size_t N>
void set_field(char (&field)[N], std::string_view text) {
  const size_t length = text.size() < N ? text.size() : N;
  std::memset(field, 0, N);
  std::memcpy(field, text.data(), length);
}

// set_field() for free text from users: penstockd accepts only printable ASCII,
// so every other byte becomes '?'.
template <size_t N>
void set_printable(char (&field)[N], std::string_view text) {
  set_field(field, text);
  for (char& c : field)
    if (c != '\0' && (c < ' ' || c > '~')) c = '?';
}

// set_field() for UTF-8 from users, cut between characters. Bytes that are part
// of no character become '?'.
template <size_t N>
void set_utf8(char (&field)[N], std::string_view text) {
  const std::string_view kept = utf8_cut(text, N);
  set_field(field, kept);
  for (size_t i = 0; i < kept.size();) {
    const size_t length = first_character(kept.substr(i)).bytes;
    if (length == 0) field[i] = '?';
    i += length > 0 ? length : 1;
  }
}

// Reads a field's text. False if the text is not printable ASCII, or if bytes
// other than NUL follow it.
template <size_t N>
bool printable_field(const char (&field)[N], std::string_view& text) {
  text = fixed_text(field);
  for (char c : text)
    if (c < ' ' || c > '~') return false;
  for (size_t i = text.size(); i < N; ++i)
    if (field[i] != '\0') return false;
  return true;
}

}  // namespace penstock
