// Opens files and directories that only the admin can change.
#pragma once

#include <string>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

// Opens a directory; does not follow a symbolic link. what: prefix of error
// messages.
// Errors: kPermissionDenied  not owned by the caller, or writable by group or
//                            others
//         kNotFound, kIo     cannot be opened
[[nodiscard]] Result<UniqueFd> open_admin_directory(const std::string& path,
                                                    const std::string& what);

// Reads a small file; does not follow a symbolic link.
// Errors: kNotFound;  kPermissionDenied  owned by neither root nor the caller,
//         or writable by group or others;  kLimit  over 64 KiB or not a regular
//         file;  kIo
[[nodiscard]] Result<std::string> read_admin_file(const std::string& path);

}  // namespace penstock
