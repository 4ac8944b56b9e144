// Texts from users in UTF-8. The C++ standard library only: plugins compile it.
// Pure.
#pragma once

#include <cstddef>
#include <string_view>

namespace penstock {

struct Utf8Character {
  size_t bytes = 0;  // 0: there is no valid one, or a control character
  unsigned code = 0;
};

// The UTF-8 character at the text's beginning. Control characters are those
// below U+0020, and U+007F to U+009F.
inline Utf8Character first_character(std::string_view text) {
  const auto byte = [&](size_t i) {
    return static_cast<unsigned char>(text[i]);
  };
  if (text.empty() || byte(0) < 0x20 || byte(0) == 0x7f) return {};
  if (byte(0) < 0x80) return {1, byte(0)};
  const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) return {};
  unsigned code = byte(0) & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool is_too_long = code < (length == 3 ? 0x800u : 0x10000u);
  if (length > 2 && is_too_long) return {};
  if (code < 0xa0 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
    return {};
  return {length, code};
}

// The text, or its longest beginning of whole characters with at most `most`
// bytes. Bytes that are part of no character count as one each.
inline std::string_view utf8_cut(std::string_view text, size_t most) {
  size_t used = 0;
  while (used < text.size()) {
    const size_t length = first_character(text.substr(used)).bytes;
    const size_t taken = length > 0 ? length : 1;
    if (used + taken > most) break;
    used += taken;
  }
  return text.substr(0, used);
}

}  // namespace penstock
