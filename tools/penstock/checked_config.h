// Checks a penstock.conf for `penstock check-config` and `doctor`.
#pragma once

#include <string>

#include "common/config.h"
#include "common/result.h"

namespace penstock {

// load_config(), plus checks that need data of the tools.
// Errors: load_config()'s;  kInvalidArgument  GPUType is unknown
[[nodiscard]] Result<Config> load_checked_config(const std::string& file);

}  // namespace penstock
