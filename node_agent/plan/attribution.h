// Attributes a job's time to the parts of a report's breakdown, from its
// progress pages and the kernel's counters. Pure.
#pragma once

#include <optional>

#include "report/report.h"

namespace penstock {

// Time of loader threads, summed over the threads.
struct LoaderTime {
  double runnable_s = 0;  // running, or waiting for a CPU
  double blocked_s = 0;   // in uninterruptible sleep, such as disk I/O
};

// The trainer's time waiting for data, split by cause.
struct WaitSplit {
  double fetch_s = 0;
  double prep_s = 0;
};

// Splits the trainer's waiting time in proportion to the loader's runnable and
// blocked time, for loaders that do not report their own times. The sum never
// exceeds the loader's runnable and blocked time: the loader's other sleep may
// be a full queue or the network.
WaitSplit split_by_kernel(double wait_s, const LoaderTime& loader);

// Averages over the ranks, except fetch_s and prep_s.
struct TimeSpent {
  double wall_s = 0;
  bool reports = false;     // the next six fields come from progress pages
  double active_s = 0;      // from the start of watching to the last update
  double wait_s = 0;        // part of active_s waiting for data
  double exchange_s = 0;    // part exchanging gradients; 0: not reported
  double contention_s = 0;  // part waiting for a CPU that its own loader used
  double fetch_s = 0;       // reported by loader threads, summed over them
  double prep_s = 0;
  WaitSplit by_kernel;  // split of wait_s, from thread states
  // For a job without pages: the time that its threads stalled (PSI), and the
  // time that its GPUs were busy (NVML).
  std::optional<double> cpu_pressure_s;
  std::optional<double> io_pressure_s;
  std::optional<double> gpu_busy_s;
};

// Returns parts that do not overlap; contention counts as prep stall. A part
// without data is unknown, and its method gives the reason. Progress pages take
// precedence over the kernel's counters.
Breakdown attribute(const TimeSpent& spent);

}  // namespace penstock
