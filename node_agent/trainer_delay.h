// Measures how long a job's trainers waited for a CPU, with or without progress
// pages. One object per job.
#pragma once

#include <map>

#include "cgroup/proc_reader.h"

namespace penstock {

struct Task;

class TrainerDelay {
 public:
  // Returns the run delay since the last call in seconds, averaged over the
  // tasks that can hold a rank. A task's delay is the longest among the main
  // threads of its non-loader processes. Looks at no more than kMaxTasks tasks
  // and kMaxProcesses of each.
  double lap_s(const ProcReader& proc, const std::map<pid_t, Task>& tasks);

  static constexpr size_t kMaxProcesses = 16;  // of a task
  static constexpr size_t kMaxTasks = 8;

 private:
  std::map<pid_t, SchedStat> last_;
};

// Additional cores that a trainer would use without competition, if it used
// `used` cores while it waited for a CPU for `delay_share` of the time.
double crowded_cores(double used, double delay_share);

}  // namespace penstock
