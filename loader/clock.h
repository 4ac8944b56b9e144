// CPU time clocks, in addition to those of common/clock.h.
#pragma once

#include "common/clock.h"

namespace penstock {

inline uint64_t thread_cpu_ns() {
  return read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
inline uint64_t process_cpu_ns() {
  return read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

}  // namespace penstock
