// File names of pictures.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace penstock {

inline constexpr std::string_view kPictureEndings[] = {".jpg", ".jpeg", ".png",
                                                       ".webp", ".ppm"};
inline constexpr const char* kPictureEndingsText =
    ".jpg, .jpeg, .png, .webp or .ppm";

// Of pictures that the loader does not read.
inline constexpr std::string_view kOtherPictureEndings[] = {
    ".avif", ".bmp", ".dib", ".gif", ".heic", ".heif", ".jfif", ".jp2",
    ".jpe",  ".jxl", ".pbm", ".pgm", ".pnm",  ".tga",  ".tif",  ".tiff"};

inline std::string in_lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  });
  return out;
}

// Whether the name has this ending, in upper or lower case, and at least one
// character before it. ending: in lower case.
inline bool has_ending(std::string_view name, std::string_view ending) {
  return name.size() > ending.size() &&
         name[name.size() - ending.size() - 1] != '/' &&
         in_lower_case(name.substr(name.size() - ending.size())) == ending;
}

template <size_t N>
bool has_ending_of(std::string_view name,
                   const std::string_view (&endings)[N]) {
  return std::any_of(
      std::begin(endings), std::end(endings),
      [&](std::string_view ending) { return has_ending(name, ending); });
}

inline bool is_picture_name(std::string_view name) {
  return has_ending_of(name, kPictureEndings);
}

inline bool is_other_picture_name(std::string_view name) {
  return has_ending_of(name, kOtherPictureEndings);
}

}  // namespace penstock
