// The system calls of penstockd that the linker redirects (--wrap): clocks,
// timers, waiting, pidfds, forks, peers of sockets and /proc/stat. While
// `calls` is null they go to the kernel.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace penstock::model {

struct Calls {
  uint64_t now_ns = 1'000'000'000'000;  // CLOCK_MONOTONIC
  uint64_t slept_ns = 0;                // CLOCK_BOOTTIME is ahead by this
  uint64_t unix_ns = 1'780'000'000'000'000'000;  // CLOCK_REALTIME is ahead
  // Passes with every look at a clock, as the caller's own run time.
  uint64_t look_ns = 500;

  struct Timer {
    uint64_t period_ns = 0;  // 0: paused
    uint64_t due_ns = 0;
  };
  std::map<int, Timer> timers;  // by descriptor

  ucred peer{};          // of the next accepted connection
  std::string cpu_stat;  // /proc/stat
  int cpu_stat_fd = -1;  // as opened by CpuIdle
  std::function<int(pid_t)> open_pidfd;
  // Called when nothing is ready.
  std::function<void()> idle;
  bool is_ending = false;  // the event loop was told to stop

  // Fires the timers that become due.
  void pass(uint64_t ns);
  void set_cpu_stat(const std::string& text);
};

extern Calls* calls;
// Allocated by this program's operator new, which counts them.
extern size_t live_bytes;

}  // namespace penstock::model
