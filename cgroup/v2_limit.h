// Limit of a job's CPU time on v2: cpu.max of the job's group.
#pragma once

#include <string>

#include "cgroup/v2_tree.h"

namespace penstock {

// Errors: as Backend::set_cpu_limit.
[[nodiscard]] Status write_cpu_limit(const V2Tree& tree, JobId id,
                                     const std::string& job,
                                     uint32_t millicores);
// Restores the site's own limit, also after a crashed run.
[[nodiscard]] Status restore_cpu_limit(const V2Tree& tree,
                                       const std::string& job);

}  // namespace penstock
