// `penstock bench`: benchmarks are a program of the build tree, penstock-bench.
#pragma once

#include <string>
#include <vector>

#include "common/result.h"

namespace penstock {

// Replaces this process by penstock-bench, with these words of its command
// line.
// Errors: kNotFound, kPermissionDenied  there is none, as in an installation
//                                       from a package
[[nodiscard]] Status exec_bench(const std::vector<std::string>& words);

}  // namespace penstock
