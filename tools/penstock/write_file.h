// Writes a whole file, as the user who runs the command.
#pragma once

#include <string>

#include "common/result.h"

namespace penstock {

// Whoever reads path meanwhile sees what was there before, or all of text; on
// an error path is as it was.
// Errors: kNotFound, kPermissionDenied, kIo  name the path
//         kInvalidArgument  path is a folder or a device
[[nodiscard]] Status write_file_atomically(const std::string& path,
                                           const std::string& text);

}  // namespace penstock
