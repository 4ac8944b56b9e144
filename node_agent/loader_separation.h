// Keeps the loaders and trainers of tasks with --loader-threads on separate
// CPUs of the task.
#pragma once

#include "node_agent/home_split.h"
#include "node_agent/node.h"

namespace penstock {

class LoaderSeparation {
 public:
  explicit LoaderSeparation(Node& node)
      : node_(node), splitter_(node.machine.proc, node.machine.sched) {}

  // Decides for a task, if Penstock acts for its job, whether its loader gets
  // CPUs of its own. If tasks' CPUs overlapped, their loaders would all get the
  // same few CPUs: none of these tasks is then separated. May be repeated.
  void decide(Job& job, Task& task) const;

  // Moves new threads to their side. Call after each scan.
  void keep_apart(Task& task) const;

  // Gives all threads of the task all of its CPUs.
  void put_together(Task& task) const;

  // The same for good, until decide().
  void give_up(Task& task) const;

  // Undoes the separation that an earlier penstockd made.
  void undo(const SavedTask& task) const;

 private:
  Node& node_;
  HomeSplitter splitter_;
};

}  // namespace penstock
