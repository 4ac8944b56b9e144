// The v1 hierarchies as the parts of V1Backend see them: our groups' names, the
// threads of a group and moves. Internal to cgroup/.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "cgroup/backend.h"
#include "cgroup/cgroup_fs.h"
#include "cgroup/mounts.h"

namespace penstock {

// ENOENT: no such group; ENOSPC: a cpuset without CPUs.
inline bool group_unusable(const Error& error) {
  return error.saved_errno == ENOENT || error.saved_errno == ENOSPC;
}

struct V1Tree {
  const CgroupFs* fs;
  const ProcReader* proc;
  V1Mounts mounts;
  BackendSettings settings;

  // Whether away threads move to a cpu group of ours.
  bool own_cpu_group() const { return !mounts.cpu_with_cpuacct(); }
  // Path relative to fs's root; `group` is as in /proc/PID/cgroup.
  std::string at(std::string_view controller, std::string_view group) const;
  std::string parent_group() const { return "/" + settings.name; }
  std::string job_group(JobId job) const;
  std::string limit_parent() const { return parent_group() + "_limit"; }
  std::string limit_group(JobId job) const;
  bool is_ours(std::string_view group) const;
  bool is_limit(std::string_view group) const;
  // Errors: kUnavailable  the controller is not mounted.
  Status require(std::string_view controller) const;

  // The threads in a job's group; none if there is no group.
  Result<std::set<pid_t>> members(JobId job, const char* controller) const;
  // Whether the thread may be moved into this cpuset (cgroup/attach_lock.h).
  // Errors: kUnavailable  the move may wait for ever;
  //         kNotFound  the thread ended.
  Status may_attach(pid_t tid, std::string_view group) const;
  // Writes the number to `file` of the group; in cpuset after may_attach().
  Status move(pid_t tid, std::string_view controller, std::string_view group,
              const char* file) const;
  // Also tries the group's ancestors, if the group is gone or has no CPUs.
  Status move_home(pid_t tid, std::string_view controller,
                   std::string_view group, const char* file) const;
};

}  // namespace penstock
