// The form of penstock.conf, without the meaning of its keys: comments,
// continued lines, quotes. Pure.
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

// Splits a file's text. Lines with nothing on them are left out.
// Errors: kInvalidArgument  "FILE:LINE: why; what is allowed": a word without
//         '=', an empty key, an open quote, a control character.
[[nodiscard]] Result<std::vector<SettingLine>> split_config(
    std::string_view text, const std::string& file_name);

}  // namespace penstock
