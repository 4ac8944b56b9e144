// An allocation problem as JSON with the field names of problem.h. Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/result.h"
#include "select_ext/allocator/problem.h"

namespace penstock::optimum {

// Parses one problem. Missing fields keep the defaults of problem.h. Required
// are "cores" and "jobs", and for a job "ceiling" and "cores_curve".
// Errors: kInvalidArgument  not JSON, an unknown or missing field, a wrong
//                          type: names the field. allocator::validate checks
//                          the values.
[[nodiscard]] Result<allocator::Problem> parse_problem(std::string_view text);

// {"solver": ..., "objective": ..., "grants": [...]}, one line.
std::string to_json(const allocator::Allocation& optimum,
                    const std::string& solver);

}  // namespace penstock::optimum
