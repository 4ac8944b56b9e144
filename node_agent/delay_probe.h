// How much of the CPU time that a job wanted at home it got, for jobs that
// report no rate. One per job.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "cgroup/proc_reader.h"

namespace penstock {

struct Task;

class DelayProbe {
 public:
  // CPU time / (CPU time + run delay) since the last call, over loader threads
  // that are at home and the main threads of the other processes; of a large
  // job a part stands for all. nullopt where they wanted next to nothing.
  std::optional<double> got_share(const ProcReader& proc,
                                  std::map<pid_t, Task>& tasks);

  static constexpr size_t kMaxThreads = 64;
  static constexpr size_t kMaxProcesses = 16;

 private:
  std::map<pid_t, SchedStat> last_;
};

}  // namespace penstock
