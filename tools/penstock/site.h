// The site's settings, as the command line may override them.
#pragma once

#include <string>

#include "common/config.h"
#include "common/result.h"

namespace penstock {

struct Site {
  std::string config_path;  // "": kConfigPath, which may be missing
  std::string socket_path;  // "": as configured
  std::string report_dir;   // "": as configured
};
// Errors: load_config()'s. A missing kConfigPath gives the defaults.
[[nodiscard]] Result<Config> site_config(const Site& site);

}  // namespace penstock
