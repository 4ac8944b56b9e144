// Users by name and number, as this machine knows them.
#pragma once

#include <cstdint>
#include <string>

#include "common/result.h"

namespace penstock {

// The number as text where there is no name.
std::string name_of_user(uint32_t uid);
// A name, or a number.
// Errors: kInvalidArgument  there is no such user
[[nodiscard]] Result<uint32_t> uid_of_user(const std::string& user);

}  // namespace penstock
