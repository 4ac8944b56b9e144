// Which of a task's processes and threads are its loader. Pure.
//
// Names are the user's to write: they decide only what may be moved within the
// job's own grant, never what the job is entitled to.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace penstock {

struct ThreadView {
  int tid = 0;
  std::string comm;
};

struct ProcessView {
  int pid = 0;
  int parent_pid = 0;
  std::string comm;
  std::string command_line;  // arguments joined by one space
  std::vector<ThreadView> threads;
};

struct TaskView {
  int root_pid = 0;                    // the process that Slurm started
  std::vector<ProcessView> processes;  // root included
  std::set<int> registered_tids;       // by libpenstock: exact
  std::set<int> greeting_pids;         // sent HELLO: trainers
  std::set<int> trainer_pids;          // known to have had loaders as children
  std::set<int> seen_pids;             // processes of the last look
  std::set<int> loader_pids;           // that were loaders then
  std::string match;                   // --loader-match, "" when not given
};

// How a loader was told apart; the report's data quality names the best.
enum class LoaderEvidence { kNone, kMatch, kNames, kParentage, kRegistered };

// What is moved as one: a thread, or every thread of a worker process.
struct LoaderUnit {
  int pid = 0;
  std::vector<int> tids;
  bool whole_process = false;
};

struct Classification {
  LoaderEvidence source = LoaderEvidence::kNone;
  std::vector<LoaderUnit> units;  // ascending by pid, then tid
  // Processes that have had a worker at two looks.
  std::set<int> trainer_pids;
  // A process that may be a worker has a child for the first time that looks
  // like a worker of its own, and may be about to exec: look again.
  bool undecided = false;
};

// Rules in order of trust; the first that finds any unit decides:
//   registered threads; --loader-match (over comm or command line);
//   known names (PyTorch's, DALI's), and processes that Python's
//   multiprocessing spawned;
//   forked Python workers: a child whose command line equals its parent's.
// A process that multiprocessing spawned or forked, and that has such children
// itself, is a trainer (torch.multiprocessing.spawn): they are its loaders. One
// that was a loader before is believed to be a trainer once a child of it has
// been there at two looks. These last two rules alone ask trainer_pids.
// A unit whose process is registered thread by thread holds those threads; a
// process whose main thread is registered is moved whole.
Classification classify(const TaskView& task);

}  // namespace penstock
