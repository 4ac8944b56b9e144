// The names of a job's nodes as Slurm writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace penstock {

inline constexpr size_t kMostListedNodes = 65536;

// "a1,b[01-03,7],c[1-2]-[8-9]" as the names that it stands for, in its order.
// Pure.
// Errors: kInvalidArgument  empty; a bracket, a comma or a range that is wrong;
//         kLimit  more than kMostListedNodes
[[nodiscard]] Result<std::vector<std::string>> expand_node_list(
    std::string_view text);

}  // namespace penstock
