#include "bench/slow_tier/answer_times.h"

namespace penstock {

uint64_t AnswerTimes::due_ns(uint64_t came_ns, uint64_t bytes) {
  const uint64_t ready_ns = came_ns + latency_ns_;
  if (bytes == 0) return ready_ns;
  if (ready_ns > free_ns_) {
    free_ns_ = ready_ns;
    remainder_ = 0;
  }
  // Carry fractions of a nanosecond forward. Otherwise small requests would
  // exceed the bandwidth. 2^34 x 10^9 is below 2^64.
  const uint64_t seconds = bytes / bandwidth_bytes_per_s_;
  const uint64_t rest = bytes % bandwidth_bytes_per_s_ * 1'000'000'000;
  free_ns_ += seconds * 1'000'000'000 + rest / bandwidth_bytes_per_s_;
  remainder_ += rest % bandwidth_bytes_per_s_;
  if (remainder_ >= bandwidth_bytes_per_s_) {
    remainder_ -= bandwidth_bytes_per_s_;
    ++free_ns_;
  }
  return free_ns_;
}

}  // namespace penstock
