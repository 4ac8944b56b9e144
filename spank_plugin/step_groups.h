// Removes penstockd's groups inside a step's groups (cgroup v2) at the step's
// end. Slurm tries to remove its directories once; a group left inside would
// keep them for ever. The plugin does this, not penstockd, because Slurm
// proceeds within 0.2 s and penstockd may have stopped.
#pragma once

#include <string_view>

namespace penstock::spank {

// The path in the unified hierarchy, from the text of /proc/self/cgroup; "" if
// there is none.
std::string_view unified_path(std::string_view proc_cgroup);

// Removes our empty groups below STEP/user/task_*.
//   cgroup_root_fd  root of the unified hierarchy
//   own_path        group of slurmstepd, STEP/slurm
// Returns the number of removed groups. Never blocks; kills and moves no
// process.
int remove_step_groups(int cgroup_root_fd, std::string_view own_path);

// remove_step_groups() for the calling process; 0 on cgroup v1.
int remove_own_step_groups();

}  // namespace penstock::spank
