// The broker's work on files that may hang, in child processes: the broker
// waits for none of them. Not thread-safe.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

class Workers {
 public:
  // in: the second descriptor of start(), or -1.
  using Work = std::function<void(int out, int in)>;

  // Runs the work in a child, which has no other descriptors, writes to `out`,
  // and ends by a signal after kDeadline_s.
  // REQUIRES: the process ignores SIGCHLD.
  // Errors: kUnavailable  kMost children run or hang in the kernel;
  //         kIo  no child can be started.
  [[nodiscard]] Status start(const Work& work, int out, int in = -1);

  static constexpr unsigned kDeadline_s = 5;
  static constexpr size_t kMost = 32;

 private:
  std::vector<UniqueFd> running_;  // pidfds
};

}  // namespace penstock
