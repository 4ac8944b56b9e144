#include "loader/train/run_delay.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

namespace penstock {

RunDelay::RunDelay()
    : fd_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)),
      last_ns_(read_ns()) {}

uint64_t RunDelay::lap_ns() {
  const uint64_t now_ns = std::max(read_ns(), last_ns_);
  const uint64_t lap_ns = now_ns - last_ns_;
  last_ns_ = now_ns;
  return lap_ns;
}

// The second of "RUN_NS WAIT_NS TIMESLICES\n".
uint64_t RunDelay::read_ns() const {
  char buffer[64];
  const ssize_t size = ::pread(fd_.get(), buffer, sizeof buffer, 0);
  if (size <= 0) return 0;
  const std::string_view text(buffer, static_cast<size_t>(size));
  const size_t space = text.find(' ');
  if (space == std::string_view::npos) return 0;
  uint64_t wait_ns = 0;
  std::from_chars(text.data() + space + 1, text.data() + text.size(), wait_ns);
  return wait_ns;
}

}  // namespace penstock
