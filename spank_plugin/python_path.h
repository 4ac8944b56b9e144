// PYTHONPATH of a task. Pure.
#pragma once

#include <string>
#include <string_view>

namespace penstock::spank {

// The path with the folder in front, or as it is if the folder is in it
// already. path: "" if the variable is not set.
std::string led_by(std::string_view folder, std::string_view path);

}  // namespace penstock::spank
