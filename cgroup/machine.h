// Chooses the backend for this machine's control groups.
#pragma once

#include <memory>

#include "cgroup/backend.h"
#include "cgroup/cgroup_fs.h"

namespace penstock {

// Opens v1 if cpu and cpuset are mounted as v1 below root, else v2. (A hybrid
// machine has them in v1, not in the unified hierarchy.) Sets
// settings.every_attach_locks for this kernel. fs (of root), proc and sched
// must outlive the backend. Not thread-safe.
//
// Errors: kUnavailable  neither version has them; the message gives the remedy.
[[nodiscard]] Result<std::unique_ptr<Backend>> open_backend(
    const std::string& root, const CgroupFs& fs, const ProcReader& proc,
    const ThreadSched& sched, BackendSettings settings);

}  // namespace penstock
