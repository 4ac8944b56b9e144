#include "node_agent/plan/classifier.h"

#include <algorithm>
#include <array>
#include <functional>

#include "common/options.h"

namespace penstock {
namespace {

// As the kernel shows them, at most 15 bytes. Sources: pytorch's worker.py and
// setThreadName truncation. Seen: DALI 2.4's pools and executor; Ray Data
// 2.60's tasks, whose workers have another name while idle; grain's threads,
// which the kernel knows from Python 3.14 on.
constexpr std::array<std::string_view, 10> kLoaderNamePrefixes = {
    "pt_data_",  "pt_multiprocess", "pt_thread_data", "[DALI]",
    "ray::Read", "ray::Map",        "ray::FlatMap",   "ray::Filter",
    "grain-pre", "grain-thread-pr"};
// From Python's multiprocessing.spawn.
constexpr std::array<std::string_view, 2> kSpawnCommands = {
    "multiprocessing.spawn import spawn_main", "--multiprocessing-fork"};

constexpr std::string_view kForkServerCommand =
    "multiprocessing.forkserver import main";

bool has_loader_name(std::string_view comm) {
  return std::any_of(kLoaderNamePrefixes.begin(), kLoaderNamePrefixes.end(),
                     [&](auto prefix) { return comm.starts_with(prefix); });
}

LoaderUnit whole(const ProcessView& process) {
  LoaderUnit unit{process.pid, {}, true};
  for (const ThreadView& thread : process.threads) {
    unit.tids.push_back(thread.tid);
  }
  return unit;
}

// Returns one unit per process or thread that a predicate selects. The root
// process and greeting processes are never moved whole: they contain trainers.
template <class ProcessIs, class ThreadIs>
std::vector<LoaderUnit> collect(const TaskView& task, ProcessIs process_is,
                                ThreadIs thread_is) {
  std::vector<LoaderUnit> units;
  for (const ProcessView& process : task.processes) {
    const bool may_be_whole = process.pid != task.root_pid &&
                              !task.greeting_pids.contains(process.pid);
    if (may_be_whole && process_is(process)) {
      units.push_back(whole(process));
      continue;
    }
    for (const ThreadView& thread : process.threads) {
      if (thread_is(process, thread)) {
        units.push_back({process.pid, {thread.tid}, false});
      }
    }
  }
  return units;
}

std::vector<LoaderUnit> registered(const TaskView& task) {
  return collect(
      task,
      [&](const ProcessView& p) {
        return task.registered_tids.contains(p.pid);
      },
      [&](const ProcessView&, const ThreadView& t) {
        return task.registered_tids.contains(t.tid);
      });
}

// The main thread of a trainer's process often has its workers' name. It is
// selected only if nothing else matches.
std::vector<LoaderUnit> matching(const TaskView& task) {
  if (task.match.empty()) return {};
  const auto units_of = [&](bool with_main) {
    return collect(
        task,
        [&](const ProcessView& p) {
          return matches_loader(task.match, p.comm) || p.command.matches;
        },
        [&](const ProcessView& p, const ThreadView& t) {
          return (with_main || t.tid != p.pid) &&
                 matches_loader(task.match, t.comm);
        });
  };
  std::vector<LoaderUnit> units = units_of(false);
  return units.empty() ? units_of(true) : units;
}

using ByPid = std::map<int, const ProcessView*>;

// Debian's PyTorch sets no names. Its workers are forks of the trainer without
// exec, and so keep the trainer's command line.
bool is_forked_worker(const ByPid& by_pid, const ProcessView& process) {
  const auto parent = by_pid.find(process.parent_pid);
  return parent != by_pid.end() && process.comm.starts_with("python") &&
         process.command.hash != 0 &&
         process.command.hash == parent->second->command.hash;
}

// Processes with workers as children, or as children of a fork server that is
// their child.
struct Parents {
  std::set<int> pids;
  std::set<int> lasting;  // of them, those whose worker is not new
  bool undecided = false;
};

Parents parents_of_workers(const TaskView& task, const ByPid& by_pid) {
  const auto is_worker = [&](const ProcessView& process) {
    return has_loader_name(process.comm) || process.command.is_spawned_worker ||
           is_forked_worker(by_pid, process);
  };
  Parents parents;
  for (const ProcessView& process : task.processes) {
    if (!is_worker(process)) continue;
    const bool is_new = !task.seen_pids.contains(process.pid);
    const auto add = [&](const ProcessView& parent) {
      // Only parents that may be taken for workers leave the scan undecided.
      parents.undecided = parents.undecided || (is_new && is_worker(parent));
      if (is_new && task.loader_pids.contains(parent.pid)) return;
      parents.pids.insert(parent.pid);
      if (!is_new) parents.lasting.insert(parent.pid);
    };
    const auto parent = by_pid.find(process.parent_pid);
    if (parent == by_pid.end()) continue;
    add(*parent->second);
    if (!parent->second->command.is_fork_server) continue;
    const auto starter = by_pid.find(parent->second->parent_pid);
    if (starter != by_pid.end()) add(*starter->second);
  }
  return parents;
}

ByPid by_pid_of(const TaskView& task) {
  ByPid by_pid;
  for (const ProcessView& process : task.processes) {
    by_pid[process.pid] = &process;
  }
  return by_pid;
}

bool is_trainer(const TaskView& task, const Parents& parents, int pid) {
  return parents.pids.contains(pid) || task.trainer_pids.contains(pid);
}

std::vector<LoaderUnit> named(const TaskView& task, const Parents& parents) {
  return collect(
      task,
      [&](const ProcessView& p) {
        return has_loader_name(p.comm) || (p.command.is_spawned_worker &&
                                           !is_trainer(task, parents, p.pid));
      },
      [](const ProcessView& p, const ThreadView& t) {
        return t.tid != p.pid && has_loader_name(t.comm);
      });
}

std::vector<LoaderUnit> forked(const TaskView& task, const Parents& parents) {
  const ByPid by_pid = by_pid_of(task);
  return collect(
      task,
      [&](const ProcessView& p) {
        return is_forked_worker(by_pid, p) && !is_trainer(task, parents, p.pid);
      },
      [](const ProcessView&, const ThreadView&) { return false; });
}

// Applies names and parentage, which also find trainers started by
// multiprocessing.
Classification by_processes(const TaskView& task) {
  const Parents parents = parents_of_workers(task, by_pid_of(task));
  Classification found{LoaderEvidence::kNames, named(task, parents)};
  if (found.units.empty()) {
    found = {LoaderEvidence::kParentage, forked(task, parents)};
  }
  found.trainer_pids = parents.lasting;
  found.undecided = parents.undecided;
  return found;
}

}  // namespace

CommandFacts facts_of(std::string arguments, std::string_view match) {
  while (arguments.ends_with('\0')) arguments.pop_back();
  std::replace(arguments.begin(), arguments.end(), '\0', ' ');
  const auto has = [&](std::string_view part) {
    return arguments.find(part) != std::string::npos;
  };
  if (arguments.empty()) return {};
  CommandFacts facts;
  facts.hash = std::max<uint64_t>(1, std::hash<std::string>{}(arguments));
  facts.is_spawned_worker =
      std::any_of(kSpawnCommands.begin(), kSpawnCommands.end(), has);
  facts.is_fork_server = has(kForkServerCommand);
  facts.matches = !match.empty() && matches_loader(match, arguments);
  return facts;
}

Classification classify(const TaskView& task) {
  Classification result{LoaderEvidence::kRegistered, registered(task)};
  if (result.units.empty()) result = {LoaderEvidence::kMatch, matching(task)};
  if (result.units.empty()) result = by_processes(task);
  if (result.units.empty()) result.source = LoaderEvidence::kNone;
  std::sort(result.units.begin(), result.units.end(),
            [](const LoaderUnit& a, const LoaderUnit& b) {
              return std::pair(a.pid, a.tids) < std::pair(b.pid, b.tids);
            });
  return result;
}

Classification all_processes(const TaskView& task) {
  Classification found{LoaderEvidence::kGuest, {}};
  for (const ProcessView& process : task.processes) {
    LoaderUnit unit{process.pid, {}, true};
    for (const ThreadView& thread : process.threads) {
      unit.tids.push_back(thread.tid);
    }
    if (!unit.tids.empty()) found.units.push_back(std::move(unit));
  }
  return found;
}

}  // namespace penstock
