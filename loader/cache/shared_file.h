// What all files that processes share by name in a cache folder need.
#pragma once

#include <sys/stat.h>

#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace penstock {

inline void pause_a_moment() {
  const timespec pause{0, 1000000};
  ::nanosleep(&pause, nullptr);
}

// Opens or makes such a file by `attempt`, which says kUnavailable where
// somebody else is just making or removing one of that name: then again, for a
// second or somewhat longer.
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

// False: the open file was removed.
inline bool has_name(int fd) {
  struct stat found {};
  return ::fstat(fd, &found) == 0 && found.st_nlink > 0;
}

// Names in the open folder that end so, in byte order; none where it cannot be
// read.
std::vector<std::string> names_ending(int folder, std::string_view ending);

}  // namespace penstock
