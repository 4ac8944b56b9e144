// Looks at a task's processes in /proc and brings its list of loader units up
// to date.
#pragma once

#include "cgroup/proc_reader.h"
#include "node_agent/job.h"

namespace penstock {

// Whether a thread started since the given CLOCK_MONOTONIC time, or up to a
// tick of the kernel's before it: /proc tells starts in ticks.
bool started_since(const TaskId& thread, uint64_t since_ns);

class Scanner {
 public:
  Scanner(const ProcReader& proc, const Backend& backend)
      : proc_(proc), backend_(backend) {}

  // Rereads the task's process tree. Units that are still there keep their
  // state (away, counters); new ones start at home; units that have gone are
  // dropped. A thread that started since job.sampled_ns is accounted from its
  // start, an older one from now. Sets task.processes, task.units,
  // job.evidence. A task with more
  // than kMaxProcesses is seen in part, and that is said once in the notes.
  // A thread that is in none of the job's groups is left out: its number was
  // given to somebody else. Returned: away threads that are no loaders any
  // more; bring them home.
  [[nodiscard]] std::vector<Home> scan(Job& job, Task& task) const;

  // Whether the number is a thread's of the job that the task is of.
  bool is_of_job(const Task& task, pid_t tid) const;

  static constexpr size_t kMaxProcesses = 4096;
  static constexpr size_t kMaxLoaderThreads = 4096;  // of one task

 private:
  TaskView view_of(Job& job, const Task& task) const;
  std::optional<ProcessView> process_view(pid_t pid) const;
  struct Found {
    LoaderThread thread;
    bool away = false;  // born so
  };
  std::optional<Found> open_thread(const Job& job, const Task& task,
                                   pid_t tid) const;

  const ProcReader& proc_;
  const Backend& backend_;
};

}  // namespace penstock
