// Mistakes in how a job was started, as they show in what it does. Pure.
//
// A fault is told only where its remedy is sure: a job that waits for nothing,
// or of which too little is known, has none.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/units.h"
#include "node_agent/plan/file_reads.h"
#include "report/report.h"

namespace penstock {

// What a job did on its node in a few seconds. Cores are averages; 0 CPUs:
// unknown.
struct LaunchWindow {
  std::string node;
  Launch launch = Launch::kUnknown;
  double node_cpus = 0;
  uint64_t node_memory_bytes = 0;
  double job_cpus = 0;    // of its steps and its batch script
  double step_cpus = 0;   // Slurm gave the steps that hold its tasks
  double task_cpus = 0;   // its tasks may use
  double task_cores = 0;  // physical cores of these
  // The tasks may use one hardware thread of each core, and the step has more.
  bool leaves_siblings = false;
  uint32_t tasks = 0;  // that can hold a rank
  uint32_t ranks = 0;
  bool trains = false;          // samples were counted
  std::optional<double> waits;  // share of the time, for data; nullopt: unknown
  // Of all its processes but loaders, the batch script's too; nullopt: unknown.
  std::optional<double> trainer_cores;
  // Loaders' time per second, of all together, for reading samples and for
  // preparing them.
  double fetching = 0;
  double preparing = 0;
  bool knows_reads = false;  // else nobody looked at what they read
  std::optional<NetworkReads> network_reads;
  double loader_cores = 0;        // on the job's own CPUs
  double loader_delay_cores = 0;  // loader threads there that waited for a CPU
  uint32_t workers = 0;           // loader processes
  uint32_t busy_workers = 0;      // that ran for a twentieth of the time
  // Threads of busy workers that ran at least half as long as their worker's
  // busiest one.
  uint32_t busy_threads = 0;
  // The CPUs that a task's loader threads may use, if they are at most half of
  // the task's CPUs, whose number is pinned_from.
  std::optional<CpuSet> pinned_to;
  double pinned_from = 0;
  // Threads with which a trainer computes its model on the CPU; 0: unknown, or
  // elsewhere.
  uint32_t compute_threads = 0;
  CpuSet near_gpus;  // empty: no GPUs, or unknown
  CpuSet cpus;       // the job's
  uint32_t gpus = 0;
  std::optional<uint32_t> gpus_without_process;  // nullopt: nobody looks
  double outside_cores = 0;   // of its CPUs, used by programs of no job
  uint64_t memory_kills = 0;  // killed for want of memory, since its start
  uint64_t memory_bytes = 0;  // the limit that they met; 0: none
};

// Its trainers wait for data, and its loaders mostly for files.
bool waits_for_files(const LaunchWindow& window);

// The faults that the window shows. Of those that all explain why a job gets
// too little CPU, the first in the order of LaunchFault.
std::vector<LaunchProblem> launch_problems(const LaunchWindow& window);

// Keeps what windows show over a job's run.
class LaunchWatch {
 public:
  // A fault counts once two windows in a row have shown it, until it was absent
  // from as many as had shown it. A window without what shows a fault changes
  // nothing of it. Killed processes count at once, for ever.
  void add(const LaunchWindow& window);
  // Looks for killed processes alone.
  void add_kills(const LaunchWindow& window);

  // In the order of LaunchFault, each with its newest text.
  std::vector<LaunchProblem> problems() const;

 private:
  struct Record {
    LaunchProblem newest;
    uint64_t balance = 0;  // windows that showed it less those that did not
    bool is_told = false;
  };
  void show(const LaunchProblem& problem);

  std::array<Record, kLaunchFaultCount> records_{};
};

}  // namespace penstock
