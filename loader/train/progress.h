// The trainer's counters, written by the trainer's thread and read by others.
#pragma once

#include <atomic>
#include <cstdint>

#include "loader/clock.h"

namespace penstock {

struct TrainProgress {
  std::atomic<uint64_t> samples{0};  // good ones, of finished steps
  std::atomic<uint64_t> steps{0};
  std::atomic<uint64_t> step_ns{0};      // duration of finished steps, summed
  std::atomic<uint64_t> exchange_ns{0};  // waiting for other ranks, of these
  std::atomic<uint64_t> finished_wait_ns{0};
  std::atomic<uint64_t> waiting_since_ns{0};  // 0: not waiting

  // The wait under way included.
  uint64_t wait_ns() const {
    const uint64_t since_ns = waiting_since_ns;
    return finished_wait_ns + (since_ns == 0 ? 0 : monotonic_ns() - since_ns);
  }
  void begin_wait() { waiting_since_ns = monotonic_ns(); }
  void end_wait() {
    const uint64_t since_ns = waiting_since_ns.exchange(0);
    finished_wait_ns += monotonic_ns() - since_ns;
  }
};

}  // namespace penstock
