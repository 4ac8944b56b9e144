// Starts programs for a benchmark.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/result.h"

namespace penstock {

// Starts a program from PATH; the caller must wait for it. variables: its whole
// environment. input, output: its standard input and output; -1: inherited.
// Errors: as system_error(), naming the program
[[nodiscard]] Result<pid_t> spawn(std::vector<std::string> arguments,
                                  std::vector<std::string> variables, int input,
                                  int output);

}  // namespace penstock
