// The number of files that this process may open.
#pragma once

#include <sys/resource.h>

#include <cerrno>

#include "common/result.h"

namespace penstock {

// Raises the soft limit to the hard one. Children inherit it.
inline Status raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return Done{};
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) return Done{};
  return system_error(errno, "open files: the limit stays low");
}

}  // namespace penstock
