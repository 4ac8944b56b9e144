// What TOML and JSON have in common for a profile: a flat list of keys with
// numbers, strings and lists of numbers. The two libraries throw; nothing
// does out of here. Internal to predictor/.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/result.h"

namespace penstock {

struct ProfileEntry {
  std::string key;
  std::variant<double, std::string, std::vector<double>> value;
};

// Errors: kInvalidArgument  "FILE:LINE: why" for what is not TOML,
//         "FILE: key: why" for a value of another type or a doubled key.
[[nodiscard]] Result<std::vector<ProfileEntry>> read_toml(
    std::string_view text, const std::string& file_name);

// Errors: as above, but a syntax error names the byte.
[[nodiscard]] Result<std::vector<ProfileEntry>> read_json(
    std::string_view text, const std::string& file_name);

}  // namespace penstock
