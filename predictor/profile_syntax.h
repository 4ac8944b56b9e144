// Reads a profile's TOML or JSON into a flat list of keys with numbers, strings
// and lists of numbers. The two libraries throw; these functions do not.
// Internal to predictor/.
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

// Errors: kInvalidArgument  "FILE:LINE: why" for a syntax error (also a
//         duplicate key), "FILE: key: why" for a value of another type.
[[nodiscard]] Result<std::vector<ProfileEntry>> read_toml(
    std::string_view text, const std::string& file_name);

// Errors: kInvalidArgument  "FILE: why", with the byte for a syntax error;
//         "FILE: key: why" for a duplicate key or a value of another type.
[[nodiscard]] Result<std::vector<ProfileEntry>> read_json(
    std::string_view text, const std::string& file_name);

}  // namespace penstock
