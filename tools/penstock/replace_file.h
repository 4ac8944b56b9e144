// Writes a whole file with the permissions of the command's user.
#pragma once

#include <string>
#include <string_view>

#include "common/result.h"

namespace penstock {

// The file appears atomically: a temporary file in the same folder is written,
// synced and renamed. Mode 0600. An existing regular file or link is replaced.
// Errors: kInvalidArgument  path is empty, a directory, not a regular file, or
//                          in a missing folder
//         kPermissionDenied, kIo  name the path and the cause; no partial file
//                                 remains, and an earlier file is kept
[[nodiscard]] Status replace_file(const std::string& path,
                                  std::string_view text);

}  // namespace penstock
