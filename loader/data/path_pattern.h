// Names of several files in one: "shard-{0000..0012}.tar", "shard-*.tar".
#pragma once

#include <string>
#include <vector>

#include "common/result.h"

namespace penstock {

inline constexpr size_t kMostPaths = 1'000'000;

// Expands "{a,b}" and "{08..12}" as WebDataset and the shell do, the leftmost
// pair of braces slowest. Numbers keep the leading zeros of the first. Braces
// without "," or ".." stay as they are. Pure.
// Errors: kInvalidArgument  over kMostPaths paths
[[nodiscard]] Result<std::vector<std::string>> expand_braces(
    const std::string& pattern);

// Those paths with braces, "*", "?" and "[" expanded, where no file has the
// name as it is written. Files of a "*" are in order of their names. What
// matches no file stays as it is.
// Errors: expand_braces()'s
[[nodiscard]] Result<std::vector<std::string>> expand_paths(
    const std::vector<std::string>& paths);

}  // namespace penstock
