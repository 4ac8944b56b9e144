// Writes a whole file, as the user who runs the command.
#pragma once

#include <string>
#include <string_view>

#include "common/result.h"

namespace penstock {

// The file appears whole or not at all: written aside in its own folder,
// synced, renamed. Mode 0600; one that was there is replaced, a link too, but
// nothing other than a regular file.
// Errors: kInvalidArgument  path is empty, a directory or no regular file, or
//                           in a folder that is not there
//         kPermissionDenied, kIo  name the path and the cause; nothing partial
//                                 stays, and an earlier file does
[[nodiscard]] Status replace_file(const std::string& path,
                                  std::string_view text);

}  // namespace penstock
