// An allocation problem as JSON, its fields named as in problem.h. Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/result.h"
#include "select_ext/allocator/problem.h"

namespace penstock::optimum {

// Parses one problem. Fields left out keep the default of problem.h, but
// "cores" and "jobs", and "ceiling" and "cores_curve" of a job, must be there.
// Errors: kInvalidArgument  not JSON, an unknown or missing field, a wrong
//                           type: names the field. Values are not checked:
//                           allocator::validate does that.
[[nodiscard]] Result<allocator::Problem> parse_problem(std::string_view text);

// {"solver": ..., "objective": ..., "grants": [...]}, one line.
std::string to_json(const allocator::Allocation& optimum,
                    const std::string& solver);

}  // namespace penstock::optimum
