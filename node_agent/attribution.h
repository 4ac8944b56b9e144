// Where a job's time went: what its pages and the kernel said of a stretch of
// time, as the parts of a report's breakdown. Pure.
#pragma once

#include <optional>

#include "report/report.h"

namespace penstock {

// Time of loader threads, summed over them.
struct LoaderTime {
  double runnable_s = 0;  // on a CPU, or waiting for one
  double blocked_s = 0;   // in uninterruptible sleep, as for a disk
};

// What the trainer waited for, of the time that it waited.
struct WaitSplit {
  double fetch_s = 0;
  double prep_s = 0;
};

// Divides time waited as the loader's time was spent meanwhile, for loaders
// that do not tell. More than the loader was seen at work is not told: what it
// slept for otherwise may be its queue, or a network.
WaitSplit split_by_kernel(double wait_s, const LoaderTime& loader);

// All averaged over the ranks, but for fetch_s and prep_s.
struct TimeSpent {
  double wall_s = 0;
  bool reports = false;   // the next six are the job's word
  double active_s = 0;    // from the start of watching to the last update
  double wait_s = 0;      // of it, for data
  double exchange_s = 0;  // of it, for the exchange of gradients; 0: none told
  double contention_s = 0;  // of it, for a CPU that its own loader used
  double fetch_s = 0;       // loader threads' own account, summed over them
  double prep_s = 0;
  WaitSplit by_kernel;  // of wait_s
  // For a job that does not report: how long the kernel saw threads held up,
  // and how long NVML saw its GPUs busy.
  std::optional<double> cpu_pressure_s;
  std::optional<double> io_pressure_s;
  std::optional<double> gpu_busy_s;
};

// Parts without overlap: contention is part of the prep stall; what cannot be
// told is unknown, and its method says why. The job's own word goes before the
// kernel's.
Breakdown attribute(const TimeSpent& spent);

}  // namespace penstock
