// Identifies the loader processes and threads of a task. Pure.
//
// Users choose process and thread names freely. Names therefore decide only
// what is moved within the job's own grant, never the job's entitlement.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

// A fork that will exec another program looks like its parent until then.
inline constexpr uint64_t kExecTakes_ns = 1'000'000'000;

struct ThreadView {
  int tid = 0;
  std::string comm;
};

// What the rules need of a process's command line. Kept instead of the text,
// which a user can make long.
struct CommandFacts {
  uint64_t hash = 0;  // equal for equal texts; 0: unknown, or empty
  bool is_spawned_worker = false;  // by Python's multiprocessing
  bool is_fork_server = false;     // multiprocessing's
  bool matches = false;            // the user's pattern
};
// arguments: as in /proc/PID/cmdline, each ended by a NUL byte.
CommandFacts facts_of(std::string arguments, std::string_view match);

struct ProcessView {
  int pid = 0;
  int parent_pid = 0;
  uint64_t starttime_ticks = 0;
  std::string comm;
  CommandFacts command;
  std::vector<ThreadView> threads;
};

struct TaskView {
  int root_pid = 0;                    // first process, started by Slurm
  std::vector<ProcessView> processes;  // includes the root process
  std::set<int> registered_tids;       // registered through libpenstock: exact
  std::set<int> greeting_pids;         // trainers: they sent HELLO
  std::set<int> trainer_pids;  // trainers: they had loader children before
  std::set<int> seen_pids;     // processes known too long to be about to exec
  std::set<int> loader_pids;   // loaders at the last scan
  std::string match;           // the user's pattern; "": not given
};

// The rule that identified the loader. The report's data quality names the most
// trusted rule that applied.
enum class LoaderEvidence {
  kNone,
  kMatch,
  kNames,
  kParentage,
  kRegistered,
  kGuest,  // every process of a guest counts as one
};

// A unit of movement: one thread, or all threads of a worker process.
struct LoaderUnit {
  int pid = 0;
  std::vector<int> tids;
  bool whole_process = false;
};

struct Classification {
  LoaderEvidence source = LoaderEvidence::kNone;
  std::vector<LoaderUnit> units;  // ascending by pid, then tid
  // Processes with a worker in seen_pids.
  std::set<int> trainer_pids;
  // A possible worker has a new child that looks like its own worker but may be
  // about to exec: scan again.
  bool undecided = false;
};

// Applies these rules in order of trust; the first that finds a unit decides:
//   1. registered threads
//   2. the user's pattern, against comm and command line
//   3. known names (PyTorch's, DALI's), and processes spawned by Python's
//      multiprocessing
//   4. forked Python workers: children with their parent's command line
//
// A process that multiprocessing spawned or forked, and that has such children
// itself, is a trainer (torch.multiprocessing.spawn); its children are its
// loaders. A former loader becomes a trainer once a child of it is in
// seen_pids. Only rules 3 and 4 use trainer_pids.
//
// If single threads of a process are registered, its units are those threads.
// If its main thread is registered, the whole process is one unit.
Classification classify(const TaskView& task);

// A guest's: each of its processes is one unit.
Classification all_processes(const TaskView& task);

}  // namespace penstock
