// Helpers for named files in a cache folder that processes share.
#pragma once

#include <sys/stat.h>

#include <ctime>

#include "common/result.h"

namespace penstock {

inline void pause_a_moment() {
  const timespec pause{0, 1000000};
  ::nanosleep(&pause, nullptr);
}

// Opens or creates such a file by `attempt`. It returns kUnavailable while
// another process creates or removes the file; then it is called again, 1000
// times in all, 1 ms apart.
template <class Attempt>
Status join_in_a_second(const Attempt& attempt) {
  constexpr int kTries = 1000;
  Status joined = attempt();
  for (int tried = 1;
       tried < kTries && !joined && joined.error().code == Code::kUnavailable;
       ++tried) {
    pause_a_moment();
    joined = attempt();
  }
  return joined;
}

// False: the open file's name was removed.
inline bool has_name(int fd) {
  struct stat found {};
  return ::fstat(fd, &found) == 0 && found.st_nlink > 0;
}

}  // namespace penstock
