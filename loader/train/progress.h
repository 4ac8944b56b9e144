// The trainer's counters, written by its thread and read by other threads.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/clock.h"

namespace penstock {

struct TrainProgress {
  std::atomic<uint64_t> samples{0};  // good samples of finished steps
  std::atomic<uint64_t> steps{0};
  std::atomic<uint64_t> step_ns{0};      // sum over finished steps
  std::atomic<uint64_t> exchange_ns{0};  // waits for other ranks, in steps
  std::atomic<uint64_t> delay_ns{0};     // run delay in steps, no wait's
  std::atomic<uint64_t> finished_wait_ns{0};
  std::atomic<uint64_t> waiting_since_ns{0};  // 0: not waiting

  // Includes a wait in progress.
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
