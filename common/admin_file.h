// Reads a small file that only the admin can have written.
#pragma once

#include <string>

#include "common/result.h"

namespace penstock {

// Errors: kNotFound;  kPermissionDenied  not owned by root or by us, or
//         writable by group or others;  kLimit  over 64 KiB or no regular
//         file;  kIo
[[nodiscard]] Result<std::string> read_admin_file(const std::string& path);

}  // namespace penstock
