// penstockd's record of a task on its node: its processes, its loader's threads
// and its progress pages.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cgroup/backend.h"
#include "common/protocol.h"
#include "common/unique_fd.h"
#include "node_agent/home_split.h"
#include "node_agent/pages.h"
#include "node_agent/plan/classifier.h"

namespace penstock {

// A thread's contributions to Totals::home_cpu_s, away_cpu_s, home_delay_s.
struct Charge {
  double home_s = 0;
  double away_s = 0;
  double home_delay_s = 0;
};

// One thread of a loader unit, with the home to which it returns.
struct LoaderThread {
  Home home;
  SchedstatFile schedstat;
  SchedStat ticked;     // at the control loop's last tick
  SchedStat accounted;  // at the last accounting
  // Opened when the thread's state is first sampled.
  std::optional<ThreadStatFile> stat = std::nullopt;
  Charge charged;
  Charge sampled;  // at the last sample
};

struct Unit {
  int id = 0;  // tid of its first thread
  pid_t pid = 0;
  bool in_order = false;  // a worker process
  bool away = false;
  std::vector<LoaderThread> threads;
};

// One trainer process and its pages. torchrun starts several trainer processes
// in one Slurm task.
struct Rank {
  TaskPages pages;
  TaskId writer;                     // process that writes the progress page
  std::optional<Progress> progress;  // the last reading
  bool gone = false;  // the writer has ended; another may take over

  // Reads the progress page into `progress`. batch: samples per step, for pages
  // that count only steps; 0: unknown. Returns false if the page holds no (new)
  // data.
  bool read(uint32_t batch, TaskPages::Clock clock_ns = monotonic_ns);
};

// What is known of the command line of one of a task's processes.
struct CommandLine {
  TaskId process;
  std::string comm;       // when it was read; "": it has called exec since
  uint64_t first_ns = 0;  // CLOCK_MONOTONIC; when the process was first seen
  uint64_t read_ns = 0;   // 0: not yet
  // A read did not end in time, since the process holds a lock of its memory:
  // there is no second try.
  bool hangs = false;
  CommandFacts facts;
};

struct Task {
  penstock_task_start start{};
  TaskId id;
  UniqueFd pidfd;
  uint64_t exit_seen_ns = 0;   // by the proc connector; the pidfd decides
  Home home;                   // of its first process, at registration
  CpuSet loader_cpus;          // without the trainer; empty: not separate
  SplitThreads split_threads;  // of that separation
  std::string accounted_path;  // JobGroups::accounted
  std::string memory_path;     // JobGroups::memory
  std::vector<Rank> ranks;
  std::set<int> registered_tids;
  std::set<int> greeting_pids;
  std::set<int> trainer_pids;  // multiprocessing's, had loader processes
  // Processes of the last scan, and the time (CLOCK_MONOTONIC) since which each
  // is known. Cleared when the job is stopped or continued.
  std::map<pid_t, uint64_t> known_since_ns;
  bool look_again = false;  // the last scan could not identify a trainer
  std::vector<Unit> units;
  // Living threads that the last scan no longer found to be loaders. A thread
  // that is found again continues with its counters. Cleared at the next
  // sample.
  std::map<pid_t, LoaderThread> dropped;
  std::set<pid_t> processes;  // as of the last scan
  std::map<pid_t, CommandLine> commands;
  size_t hangs = 0;  // processes whose command line blocked, ended ones too
};

// The task's processes whose command line must not be read.
std::vector<TaskId> hanging_processes(const Task& task);
// Marks them in an adopted task.
void restore_hanging(const std::vector<TaskId>& processes, Task& task);

// The task's worker processes, which are loaders as a whole.
std::set<pid_t> loader_processes(const Task& task);

// Slurm's step id of a batch script (slurm.h). A script that starts its own
// steps only waits for them.
inline constexpr uint32_t kBatchStep = 0xfffffffb;
bool is_batch(const Task& task);

}  // namespace penstock
