// Expands a node list in Slurm's notation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace penstock {

inline constexpr size_t kMostListedNodes = 65536;

// The node names of a list such as "a1,b[01-03,7],c[1-2]-[8-9]", in its order.
// Pure.
// Errors: kInvalidArgument  empty; a wrong bracket, comma or range
//         kLimit  more than kMostListedNodes
[[nodiscard]] Result<std::vector<std::string>> expand_node_list(
    std::string_view text);

}  // namespace penstock
