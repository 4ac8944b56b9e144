// Moves between a task's groups that do not wait for the lock of a process's
// memory (cgroup/attach_lock.h). Internal to cgroup/.
#pragma once

#include <string>

#include "cgroup/v2_tree.h"

namespace penstock {

// Moves a thread into the task's loader group or out of it. While a process's
// main thread moves, the loader group has the CPUs of the other group. A main
// thread that is outside of the loader group is moved only into it.
[[nodiscard]] Status move_loader(const V2Tree& tree, pid_t tid,
                                 const std::string& loader,
                                 const std::string& to);

// Gives a group of ours every CPU that its parent has, so that its processes
// can be moved there. Done if the group is gone or is no cpuset.
[[nodiscard]] Status open_group(const V2Tree& tree, const std::string& group);

}  // namespace penstock
