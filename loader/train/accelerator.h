// The emulated accelerator: a timed wait per step in place of a GPU. All output
// with its figures says that it is emulated.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "loader/train/train_options.h"

namespace penstock {

class EmulatedAccelerator {
 public:
  // s_per_sample >= 0; trainer_cpu_ms: CPU time that the calling thread burns
  // in each step. Sets the calling thread's timer slack to the minimum, so that
  // steps are not too long.
  EmulatedAccelerator(double s_per_sample, WaitMode wait,
                      double trainer_cpu_ms);

  // Runs one step that began at begin_ns (CLOCK_MONOTONIC). Returns when the
  // step's time has passed and its CPU time is burnt, or soon after stop is
  // set. A sleep ends for stop only if a signal interrupts it.
  void step(uint64_t begin_ns, size_t samples, const std::atomic<bool>& stop);

 private:
  double s_per_sample_;
  WaitMode wait_;
  uint64_t trainer_cpu_ns_;
};

}  // namespace penstock
