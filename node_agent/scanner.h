// Reads a task's processes in /proc and updates its list of loader units.
#pragma once

#include "cgroup/proc_reader.h"
#include "node_agent/job.h"

namespace penstock {

// True if the thread started at since_ns (CLOCK_MONOTONIC) or later, or up to a
// kernel tick earlier: /proc gives start times in ticks.
bool started_since(const TaskId& thread, uint64_t since_ns);

class Scanner {
 public:
  Scanner(const ProcReader& proc, const Backend& backend)
      : proc_(proc), backend_(backend) {}

  // Reads the task's process tree, without the command lines: these block while
  // a process holds a lock of its memory (see command_lines.h).
  [[nodiscard]] TaskView look(Job& job, const Task& task) const;

  // Applies a view, and sets task.processes, task.units and
  // job.loader.evidence. Existing units keep their state (away, counters), new
  // units start at home, and ended units are dropped.
  //
  // A thread that started since job.sampled_ns is accounted from its start, an
  // older one from now. A task with more than kMaxProcesses is scanned in part;
  // the job's notes mention it once. A thread outside the job's groups is
  // skipped: its tid was reused.
  //
  // Returns away threads that are no longer loaders; the caller brings them
  // home.
  [[nodiscard]] std::vector<Home> apply(const TaskView& view, Job& job,
                                        Task& task) const;

  // True if tid is a thread of the task's job. False for every thread if Slurm
  // tracks the job without a group.
  bool is_of_job(const Task& task, pid_t tid) const;

  static constexpr size_t kMaxProcesses = 4096;
  static constexpr size_t kMaxLoaderThreads = 4096;  // of one task

 private:
  std::optional<ProcessView> process_view(pid_t pid) const;
  struct Found {
    LoaderThread thread;
    bool away = false;  // it started away, as a child of an away thread
  };
  std::optional<Found> open_thread(const Job& job, const Task& task,
                                   pid_t tid) const;
  // The threads of the units before a scan.
  struct Known {
    std::map<pid_t, LoaderThread> threads;
    std::set<int> away_units;
    std::set<pid_t> away;
    std::set<pid_t> of_workers;
  };
  static Known take_threads(Task& task);
  std::optional<LoaderThread> take_dropped(Task& task, pid_t tid) const;
  // Makes the task's units. Takes their threads from `known`, from the threads
  // that earlier scans dropped, or from /proc.
  void add_units(const std::vector<LoaderUnit>& loaders, const Job& job,
                 Task& task, Known& known) const;

  const ProcReader& proc_;
  const Backend& backend_;
};

}  // namespace penstock
