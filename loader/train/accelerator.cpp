#include "loader/train/accelerator.h"

#include <sys/prctl.h>

#include <cerrno>

#include "common/clock.h"

namespace penstock {

EmulatedAccelerator::EmulatedAccelerator(double s_per_sample, WaitMode wait,
                                         double trainer_cpu_ms)
    : s_per_sample_(s_per_sample),
      wait_(wait),
      trainer_cpu_ns_(static_cast<uint64_t>(trainer_cpu_ms * 1e6)) {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

void EmulatedAccelerator::step(uint64_t begin_ns, size_t samples,
                               const std::atomic<bool>& stop) {
  const uint64_t deadline_ns =
      begin_ns +
      static_cast<uint64_t>(s_per_sample_ * static_cast<double>(samples) * 1e9);
  const uint64_t cpu_begin_ns = thread_cpu_ns();
  while (!stop && thread_cpu_ns() - cpu_begin_ns < trainer_cpu_ns_) {
  }
  if (wait_ == WaitMode::kSpin) {
    while (!stop && monotonic_ns() < deadline_ns) {
    }
    return;
  }
  // A sleep until a past time would still give up the CPU.
  if (monotonic_ns() >= deadline_ns) return;
  const timespec deadline{static_cast<time_t>(deadline_ns / 1000000000),
                          static_cast<long>(deadline_ns % 1000000000)};
  while (!stop && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline,
                                  nullptr) == EINTR) {
  }
}

}  // namespace penstock
