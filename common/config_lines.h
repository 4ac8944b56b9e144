// Syntax of penstock.conf (comments, continued lines, quotes), without the
// meaning of its keys. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace penstock {

struct Setting {
  std::string key;    // as written
  std::string value;  // without its quotes
};

struct SettingLine {
  int number = 0;                 // of the first physical line, from 1
  std::vector<Setting> settings;  // at least one
};

// Splits a file's text. Skips empty lines.
// Errors: kInvalidArgument  "FILE:LINE: why; what is allowed": a word without
//         '=', an empty key, an open quote, a control character.
[[nodiscard]] Result<std::vector<SettingLine>> split_config(
    std::string_view text, const std::string& file_name);

}  // namespace penstock
