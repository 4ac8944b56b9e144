// The broker's work on files that may hang, in child processes: the broker
// waits for none of them. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "common/result.h"
#include "common/unique_fd.h"

namespace penstock {

class Workers {
 public:
  struct Work {
    std::optional<uid_t> user;  // on whose files it depends
    unsigned deadline_s = kDeadline_s;
    // out, in: the descriptors of start(), or -1.
    std::function<void(int out, int in)> body;
  };

  // Runs the work in a child, which has no other descriptors but standard
  // error, and ends by a signal at its deadline.
  // REQUIRES: the process ignores SIGCHLD.
  // Errors: kUnavailable  kMost children run or hang in the kernel, or kMostOf
  //                       this user, or kMostOfUsers of all;
  //         kIo  no child can be started.
  [[nodiscard]] Status start(const Work& work, int out = -1, int in = -1);

  static constexpr unsigned kDeadline_s = 5;
  static constexpr size_t kMost = 32;
  static constexpr size_t kMostOfUsers = 24;
  static constexpr size_t kMostOf = 4;

  Workers() = default;
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  // Kills the children: none outlives its broker, unless it hangs in the
  // kernel.
  ~Workers();

 private:
  struct Child {
    UniqueFd pidfd;
    std::optional<uid_t> user;
    uint64_t deadline_ns = 0;  // CLOCK_MONOTONIC
  };
  void forget_ended();

  std::vector<Child> running_;
};

}  // namespace penstock
