// The share of the CPU time wanted at home that a job got, for jobs that report
// no rate. One object per job.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "cgroup/proc_reader.h"

namespace penstock {

struct Task;

class DelayProbe {
 public:
  // Returns CPU time / (CPU time + run delay) since the last call, over the
  // loader threads at home and the other processes' main threads. A large job
  // is sampled (kMaxThreads, kMaxProcesses per task). nullopt: the threads
  // wanted less than 5 ms of CPU time.
  std::optional<double> got_share(const ProcReader& proc,
                                  std::map<pid_t, Task>& tasks);

  static constexpr size_t kMaxThreads = 64;
  static constexpr size_t kMaxProcesses = 16;

 private:
  std::map<pid_t, SchedStat> last_;
};

}  // namespace penstock
