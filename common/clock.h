// Clocks for daemons and tools; pure code takes the time as an argument.
#pragma once

#include <time.h>

#include <cstdint>

namespace penstock {

// Clocks of two machines are taken to differ by less.
inline constexpr double kClockSkew_s = 60;

inline uint64_t read_clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u +
         static_cast<uint64_t>(now.tv_nsec);
}

inline uint64_t monotonic_ns() { return read_clock_ns(CLOCK_MONOTONIC); }
inline uint64_t thread_cpu_ns() {
  return read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
inline uint64_t process_cpu_ns() {
  return read_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}
inline double unix_s() {
  return static_cast<double>(read_clock_ns(CLOCK_REALTIME)) * 1e-9;
}

}  // namespace penstock
