// Restores a job's groups as Slurm made them, also after a crashed run: reads
// what to do from the directories and their marks.
#pragma once

#include <string>

#include "cgroup/v2_tree.h"

namespace penstock {

// Done without values or groups of ours. Tries every step; returns the first
// failure.
[[nodiscard]] Status restore_job(const V2Tree& tree, const std::string& job,
                                 const FindHome& find_home);

}  // namespace penstock
