// The hook that measures the loaders of unmodified Python programs.
#pragma once

#include <string>

#include "common/result.h"

namespace penstock {

inline constexpr const char* kPythonPath = "PYTHONPATH";

// The value of kPythonPath for a command: the hook comes first, because Python
// runs the first sitecustomize only.
// Errors: kNotFound  the hook is not installed.
[[nodiscard]] Result<std::string> python_path_with_hook();

}  // namespace penstock
