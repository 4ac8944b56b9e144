// How long a thread was runnable without a CPU, as the kernel counts it in
// /proc/thread-self/schedstat.
#pragma once

#include <cstdint>

#include "common/unique_fd.h"

namespace penstock {

// Of the thread that makes it, which alone may use it.
class RunDelay {
 public:
  RunDelay();

  // Since the last call, or since it was made, in ns; 0 if it is unknown. The
  // kernel counts a wait when it is over. A call takes 1 to 2 us.
  uint64_t lap_ns();

 private:
  uint64_t read_ns() const;

  UniqueFd fd_;
  uint64_t last_ns_ = 0;
};

}  // namespace penstock
