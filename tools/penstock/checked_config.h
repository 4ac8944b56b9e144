// A penstock.conf as `penstock check-config` and `doctor` check it.
#pragma once

#include <string>

#include "common/config.h"
#include "common/result.h"

namespace penstock {

// load_config(), and what only the tools know.
// Errors: load_config()'s;  kInvalidArgument  GPUType is no type that we know
[[nodiscard]] Result<Config> load_checked_config(const std::string& file);

}  // namespace penstock
