// Texts in the fixed fields of messages: NUL-padded, and not NUL-terminated
// when they fill their field. Pure.
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

namespace penstock {

// Copies as much of text as fits; the rest of the field is NULs.
template <size_t N>
void set_field(char (&field)[N], std::string_view text) {
  const size_t length = text.size() < N ? text.size() : N;
  std::memset(field, 0, N);
  std::memcpy(field, text.data(), length);
}

// The same for what users write freely: penstockd takes printable ASCII only,
// so that each byte of anything else becomes '?'.
template <size_t N>
void set_printable(char (&field)[N], std::string_view text) {
  set_field(field, text);
  for (char& c : field)
    if (c != '\0' && (c < ' ' || c > '~')) c = '?';
}

// The text of a field; false where something follows its NUL, or where it has
// bytes outside printable ASCII.
template <size_t N>
bool printable_field(const char (&field)[N], std::string_view& text) {
  text = {field, strnlen(field, N)};
  for (char c : text)
    if (c < ' ' || c > '~') return false;
  for (size_t i = text.size(); i < N; ++i)
    if (field[i] != '\0') return false;
  return true;
}

}  // namespace penstock
