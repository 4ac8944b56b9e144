// The emulated accelerator: a timed wait per step. It stands for the GPU and
// is named as emulated wherever its figures are shown.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "loader/train/train_options.h"

namespace penstock {

class EmulatedAccelerator {
 public:
  // s_per_sample >= 0; trainer_cpu_ms: CPU time burnt by the calling thread in
  // each step. Lowers the calling thread's timer slack to its least, so that a
  // step is not longer than asked.
  EmulatedAccelerator(double s_per_sample, WaitMode wait,
                      double trainer_cpu_ms);

  // Runs one step that began at begin_ns (CLOCK_MONOTONIC). Returns when the
  // step's time is over and its CPU time burnt, or soon after stop was set.
  void step(uint64_t begin_ns, size_t samples, const std::atomic<bool>& stop);

 private:
  double s_per_sample_;
  WaitMode wait_;
  uint64_t trainer_cpu_ns_;
};

}  // namespace penstock
