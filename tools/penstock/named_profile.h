// The profile that a command's argument names.
#pragma once

#include <string>

#include "common/config.h"
#include "common/result.h"
#include "predictor/profile.h"

namespace penstock {

// A file's path holds a '/'. Else it is a name, looked up as penstockd does it:
// the site's profiles, then the built-in ones.
// Errors: read_file()'s and parse_profile()'s
//         kNotFound  no profile of that name: lists the built-in ones, and
//                    says how to give a file that is called so
[[nodiscard]] Result<Profile> find_profile(const std::string& name,
                                           const Config& config);

}  // namespace penstock
