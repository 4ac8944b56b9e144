// Finds the profile for a command's argument.
#pragma once

#include <string>

#include "common/config.h"
#include "common/result.h"
#include "predictor/profile.h"

namespace penstock {

// An argument with a '/' is a file's path. Otherwise it is a name, looked up
// like penstockd does: the site's profiles first, then the built-in ones.
// Errors: read_file()'s and parse_profile()'s
//         kNotFound  no profile of that name: lists the built-in ones, and
//                    explains the path syntax if a file has that name
[[nodiscard]] Result<Profile> find_profile(const std::string& name,
                                           const Config& config);

}  // namespace penstock
