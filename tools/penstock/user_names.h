// Conversion between user names and ids on this machine.
#pragma once

#include <cstdint>
#include <string>

#include "common/result.h"

namespace penstock {

// "": there is none.
std::string known_name_of_user(uint32_t uid);
// The id as text if there is no name.
std::string name_of_user(uint32_t uid);
// Accepts a name or an id.
// Errors: kInvalidArgument  no such user
[[nodiscard]] Result<uint32_t> uid_of_user(const std::string& user);

}  // namespace penstock
