#include "common/shown_text.h"

#include <algorithm>
#include <iterator>

#include "common/utf8.h"

namespace penstock {
namespace {

struct Range {
  unsigned first, last;
};

// Unicode's Default_Ignorable_Code_Point without the variation selectors, its
// annotation marks, and its line and paragraph separators.
constexpr Range kFormat[] = {
    {0xad, 0xad},      {0x34f, 0x34f},     {0x61c, 0x61c},
    {0x115f, 0x1160},  {0x17b4, 0x17b5},   {0x180b, 0x180f},
    {0x200b, 0x200f},  {0x2028, 0x202e},   {0x2060, 0x206f},
    {0x3164, 0x3164},  {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},  {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
    {0xe0000, 0xe0fff}};

constexpr Range kWide[] = {
    {0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},
    {0xa960, 0xa97f},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},   {0xff00, 0xff60},   {0xffe0, 0xffe6},
    {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

template <size_t N>
bool is_in(const Range (&ranges)[N], unsigned code) {
  return std::any_of(std::begin(ranges), std::end(ranges), [=](Range range) {
    return code >= range.first && code <= range.last;
  });
}

// Takes a character, or a byte that is part of none, from the text's front.
std::string_view take_one(std::string_view& text) {
  const std::string_view one =
      text.substr(0, std::max<size_t>(first_character(text).bytes, 1));
  text.remove_prefix(one.size());
  return one;
}

size_t columns_of_one(std::string_view one) {
  return is_in(kWide, first_character(one).code) ? 2 : 1;
}

}  // namespace

std::string shown_text(std::string_view text, bool is_utf8) {
  std::string shown;
  while (!text.empty()) {
    const std::string_view one = take_one(text);
    const auto [bytes, code] = first_character(one);
    const bool is_shown =
        bytes == 1 || (bytes > 1 && is_utf8 && !is_in(kFormat, code));
    shown += is_shown ? one : "?";
  }
  return shown;
}

size_t bytes_in_columns(std::string_view text, size_t columns) {
  size_t used = 0;
  while (!text.empty()) {
    const std::string_view one = take_one(text);
    if (columns_of_one(one) > columns) break;
    columns -= columns_of_one(one);
    used += one.size();
  }
  return used;
}

size_t columns_of(std::string_view text) {
  size_t columns = 0;
  while (!text.empty()) columns += columns_of_one(take_one(text));
  return columns;
}

std::string shown_in_columns(std::string_view text, size_t columns) {
  std::string shown = shown_text(text);
  shown.resize(bytes_in_columns(shown, columns));
  return shown;
}

}  // namespace penstock
