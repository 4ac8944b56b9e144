// How long a job's trainers waited for a CPU, whether they report or not. One
// per job.
#pragma once

#include <map>

#include "cgroup/proc_reader.h"

namespace penstock {

struct Task;

class TrainerDelay {
 public:
  // Run delay since the last call, seconds, averaged over the tasks that can
  // hold a rank: of each the longest of the main threads of its processes that
  // are no loaders. Of a large task or job a part stands for all.
  double lap_s(const ProcReader& proc, const std::map<pid_t, Task>& tasks);

  static constexpr size_t kMaxProcesses = 16;  // of a task
  static constexpr size_t kMaxTasks = 8;

 private:
  std::map<pid_t, SchedStat> last_;
};

// What a trainer that used `used` cores while it waited for a CPU for
// `delay_share` of the time would use more if nobody were in its way.
double crowded_cores(double used, double delay_share);

}  // namespace penstock
