// The groups that penstockd makes inside a step's own on cgroup v2, removed
// when the step ends: Slurm removes its directories once, and what is left in
// one would keep it for ever. Done here and not by penstockd, because Slurm
// goes on a fifth of a second later, and penstockd may be gone.
#pragma once

#include <string_view>

namespace penstock::spank {

// The path of the unified hierarchy in the text of /proc/self/cgroup; "" where
// there is none.
std::string_view unified_path(std::string_view proc_cgroup);

// Removes the empty groups of ours below STEP/user/task_*.
//   cgroup_root_fd  the unified hierarchy's root
//   own_path        of a process in STEP/slurm: slurmstepd
// Returns how many it removed. Never waits; kills and moves nobody.
int remove_step_groups(int cgroup_root_fd, std::string_view own_path);

// The same for the process that calls; 0 on a machine with cgroup v1.
int remove_own_step_groups();

}  // namespace penstock::spank
