// Socket calls with the socket's own time-out (SO_RCVTIMEO, SO_SNDTIMEO).
#pragma once

#include <cerrno>
#include <cstdint>

#include "common/clock.h"

namespace penstock {

// Makes such a call, which returns a negative number and sets errno on failure.
// It ends with EINTR when a signal was handled, also with SA_RESTART, and when
// a stopped process goes on. It is then made again, the last time after the
// deadline (CLOCK_MONOTONIC): a stop may have taken longer.
template <class Call>
auto call_until(uint64_t deadline_ns, const Call& call) {
  for (bool is_last = false;; is_last = monotonic_ns() >= deadline_ns) {
    const auto result = call();
    if (result >= 0 || errno != EINTR || is_last) return result;
  }
}

}  // namespace penstock
