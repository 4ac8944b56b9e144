// What the broker does for penstockd, and refuses: penstockd reads what users
// and other nodes write, so it may be made to ask for anything. Pure.
//
// The rules keep every change within Slurm's jobs: no process outside of a
// job, no job's process into another job's groups or out of its own, no control
// file that is not among those that Penstock uses. They do not know who may
// lend to whom: a hostile penstockd can slow its node's jobs down.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cgroup/mounts.h"
#include "cgroup/proc_parse.h"
#include "common/result.h"

namespace penstock {

class BrokerRules {
 public:
  // name: CgroupName. mounts: of v1; without any: cgroup v2.
  BrokerRules(std::string name, V1Mounts mounts)
      : name_(std::move(name)), mounts_(std::move(mounts)) {}

  // All paths are relative to CgroupRoot. Errors: kPermissionDenied.
  [[nodiscard]] Status may_make(std::string_view group) const;
  [[nodiscard]] Status may_remove(std::string_view group) const;
  [[nodiscard]] Status may_write(std::string_view file,
                                 std::string_view text) const;
  [[nodiscard]] Status may_mark(std::string_view group,
                                std::string_view mark) const;

  // Whether a thread in these groups may be moved by writing to `file`. On v1,
  // a thread's home may be outside of Slurm's groups in a controller that Slurm
  // does not use for this job.
  //   exists  whether there is such a group
  using Exists = std::function<bool(const std::string& group)>;
  [[nodiscard]] Status may_move(const ProcCgroups& now, std::string_view file,
                                const Exists& exists) const;

  // Whether a thread in these groups belongs to a job of Slurm's: only then may
  // its affinity and policy be changed.
  [[nodiscard]] Status is_of_job(const ProcCgroups& now) const;

  // v2: the directory of Slurm's scope on a path that may_*() allowed. It must
  // be root's: a user may own groups and give one the same name.
  std::string scope_of(std::string_view path) const;

 private:
  bool unified() const { return mounts_.path_of.empty(); }
  bool may_write_v2(std::string_view group, std::string_view file,
                    std::string_view text) const;

  std::string name_;
  V1Mounts mounts_;
};

}  // namespace penstock
