// Files and directories that only the admin can have changed.
#pragma once

#include <string>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

// Opens a directory, not by a symbolic link. what: begins the message of an
// error.
// Errors: kPermissionDenied  not ours, or writable by group or others
//         kNotFound, kIo     it cannot be opened
[[nodiscard]] Result<UniqueFd> open_admin_directory(const std::string& path,
                                                    const std::string& what);

// Reads a small file.
// Errors: kNotFound;  kPermissionDenied  not owned by root or by us, or
//         writable by group or others;  kLimit  over 64 KiB or no regular
//         file;  kIo
[[nodiscard]] Result<std::string> read_admin_file(const std::string& path);

}  // namespace penstock
