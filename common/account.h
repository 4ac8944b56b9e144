// Users of this machine.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace penstock {

// The id of the account with this name; a number is its own id, with or without
// an account. nullopt: there is no such account. May wait for a directory
// service. Thread-safe.
std::optional<uid_t> find_uid(const std::string& account);

}  // namespace penstock
