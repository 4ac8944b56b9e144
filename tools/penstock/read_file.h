// Reads a whole file with the permissions of the command's user.
#pragma once

#include <string>

#include "common/result.h"

namespace penstock {

// Errors: kNotFound, kPermissionDenied, kIo  name the path
//         kInvalidArgument  not a regular file, or over max_bytes
[[nodiscard]] Result<std::string> read_file(const std::string& path,
                                            size_t max_bytes);

// Reads an open file from its start; `name` is for messages. The error for a
// file over max_bytes is kLimit here.
[[nodiscard]] Result<std::string> read_descriptor(int fd,
                                                  const std::string& name,
                                                  size_t max_bytes);

}  // namespace penstock
