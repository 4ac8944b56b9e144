// Memory files for processes that do not trust each other.
#pragma once

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

// An empty file that can be sealed, and that no process can make executable,
// where the kernel can forbid that (Linux 6.3).
//   name  shown in /proc/PID/fd
// Errors: kIo and others, as of system_error(): no memory or no descriptor
[[nodiscard]] Result<UniqueFd> create_memfd(const char* name);

}  // namespace penstock
