// Our two groups inside one of Slurm's task groups (cgroup/v2_backend.h).
#pragma once

#include <string>

#include "cgroup/v2_layout.h"
#include "cgroup/v2_tree.h"

namespace penstock {

// Calls of make_task_groups() for one task, half a second apart.
inline constexpr int kMostTries = 10;

// Makes both groups and moves all processes of the task into the home group.
// Continues what an earlier call left.
// Errors: kLimit  the move is not complete after kMove_ns; call again.
[[nodiscard]] Status make_task_groups(const V2Tree& tree, JobId id,
                                      const SlurmGroups& task);

[[nodiscard]] Status set_loader_cpus(const V2Tree& tree,
                                     const std::string& task,
                                     const CpuSet& cpus);

// Whether the home group is gone, or a thread of the task is outside of both
// groups.
bool has_left_home(const V2Tree& tree, const std::string& task);

// Moves all processes of our groups back to the task's own group, for kMove_ns
// at most, and removes the groups.
Status remove_task_groups(const V2Tree& tree, const std::string& task);

}  // namespace penstock
