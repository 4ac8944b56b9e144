// Runs operations that may hang (file systems, foreign programs) in a child
// process, with limits of time and output.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/result.h"

namespace penstock::doctor {

inline constexpr size_t kMaxChildBytes = size_t{1} << 20;

// Output that body, run in a child, writes to its descriptor.
// Errors: kUnavailable  not done within timeout_ms: the child is killed
//         kLimit        more than kMaxChildBytes
//         kIo           the child could not be started
[[nodiscard]] Result<std::string> output_of(
    const std::string& what, int timeout_ms,
    const std::function<void(int out)>& body);

// A program's standard output and standard error. The program is searched in
// PATH and inherits our environment.
// Errors: output_of()'s;  kNotFound  no such program.
[[nodiscard]] Result<std::string> output_of_program(
    const std::vector<std::string>& arguments, int timeout_ms);

// Runs a program like output_of_program(), with this standard input.
// Errors: output_of()'s;  kNotFound  no such program;  kIo  it did not end with
//         status 0: says how, with the beginning of its output.
[[nodiscard]] Status run_program(const std::vector<std::string>& arguments,
                                 const std::string& input, int timeout_ms);

}  // namespace penstock::doctor
