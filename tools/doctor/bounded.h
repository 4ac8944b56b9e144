// Does in a child process, within a bound of time and of bytes, what could
// hang: a file system that does not answer, a program of others.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/result.h"

namespace penstock::doctor {

inline constexpr size_t kMaxChildBytes = size_t{1} << 20;

// What body, run in a child, writes to its descriptor until its end.
// Errors: kUnavailable  not done within timeout_ms: the child is killed
//         kLimit        more than kMaxChildBytes
//         kIo           it could not be started
[[nodiscard]] Result<std::string> output_of(
    const std::string& what, int timeout_ms,
    const std::function<void(int out)>& body);

// What a program writes to standard output and standard error. It is looked
// for in PATH and has our environment.
// Errors: output_of()'s;  kNotFound  there is no such program.
[[nodiscard]] Result<std::string> output_of_program(
    const std::vector<std::string>& arguments, int timeout_ms);

}  // namespace penstock::doctor
