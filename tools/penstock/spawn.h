// Programs that a benchmark starts.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/result.h"

namespace penstock {

// Starts a program, found by PATH; the caller waits for it. variables: its
// whole environment. Standard input and output are as given, or ours for -1.
// Errors: as system_error(), naming the program
[[nodiscard]] Result<pid_t> spawn(std::vector<std::string> arguments,
                                  std::vector<std::string> variables, int input,
                                  int output);

}  // namespace penstock
