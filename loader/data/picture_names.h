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

// Whether the name has one of these endings, in upper or lower case, and at
// least one character before it.
inline bool is_picture_name(std::string_view name) {
  return std::any_of(
      std::begin(kPictureEndings), std::end(kPictureEndings),
      [&](std::string_view ending) {
        if (name.size() <= ending.size()) return false;
        const std::string_view tail = name.substr(name.size() - ending.size());
        return name[name.size() - ending.size() - 1] != '/' &&
               std::equal(tail.begin(), tail.end(), ending.begin(),
                          [](char a, char b) {
                            return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) ==
                                   b;
                          });
      });
}

}  // namespace penstock
