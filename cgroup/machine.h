// The control groups that this machine has.
#pragma once

#include <memory>

#include "cgroup/backend.h"
#include "cgroup/cgroup_fs.h"

namespace penstock {

struct BackendSettings {
  std::string name = "penstock";  // of our groups: one path component
  bool away_yields = true;        // false: only to show what yielding is worth
};

// v1 where cpu and cpuset are mounted as such below root (a hybrid machine has
// them there and not in the unified hierarchy), else v2. fs (of root), proc and
// sched outlive the backend. Not thread-safe.
// Errors: kUnavailable  neither has them: says what to do.
[[nodiscard]] Result<std::unique_ptr<Backend>> open_backend(
    const std::string& root, const CgroupFs& fs, const ProcReader& proc,
    const ThreadSched& sched, const BackendSettings& settings);

}  // namespace penstock
