// The keys of penstock.conf: how a value is checked, stored and shown. Internal
// to config*.cpp. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/config.h"

namespace penstock {

struct ConfigKey {
  const char* name;
  // Stores a value. Errors: kInvalidArgument  "why; what is allowed". Empty for
  // Pool and Mode, whose lines have several settings.
  std::function<Status(const std::string& value, Config& config)> store;
  // The lines of config_text().
  std::function<std::string(const Config& config)> lines;
};

// In the order of config_text().
const std::vector<ConfigKey>& config_keys();

// What a path, a name and a rate have to be, with the error of other values.
inline constexpr size_t kMaxPathBytes = 4095;
bool is_absolute_path(const std::string& value,
                      size_t max_bytes = kMaxPathBytes);
bool is_config_name(const std::string& value);
inline constexpr const char* kNameRule =
    "1 to 64 letters, digits, '.', '_' or '-', not beginning with '.'";
inline constexpr const char* kRateRule =
    "bytes/s over 0 with K, M, G or T, such as 2G";
Error not_allowed(const std::string& allowed);

}  // namespace penstock
