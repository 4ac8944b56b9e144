#include "cgroup/backend_parts.h"

namespace penstock {

Status check_group_name(const std::string& name) {
  if (!name.empty() && name[0] != '.' && name.find('/') == name.npos) {
    return Done{};
  }
  return invalid("control group name \"" + printable(name) +
                 "\": allowed is one path component that does not begin "
                 "with '.'");
}

Result<ThreadNow> read_thread(const ProcReader& proc, const ThreadSched& sched,
                              const TaskId& task) {
  Status same = proc.verify(task);
  if (!same) return same.error();
  auto id = proc.identity(task.tid);
  if (!id) return id.error();
  auto groups = proc.cgroups(task.tid);
  if (!groups) return groups.error();
  auto affinity = sched.affinity(task.tid);
  if (!affinity) return affinity.error();
  auto policy = sched.policy(task.tid);
  if (!policy) return policy.error();
  // The tid may have been reused between the reads above.
  same = proc.verify(*id);
  if (!same) return same.error();
  return ThreadNow{*id, *std::move(groups), *affinity, *policy};
}

Status restore_affinity(const ThreadSched& sched, pid_t tid,
                        const CpuSet& affinity) {
  if (affinity.empty()) return sched.set_widest_affinity(tid);
  Status mask = sched.set_affinity(tid, affinity);
  if (!mask && mask.error().saved_errno == EINVAL) {
    mask = sched.set_widest_affinity(tid);
  }
  return mask;
}

Error bad_device(std::string_view device) {
  return invalid("\"" + printable(device) +
                 "\" is no block device that can be limited; allowed: "
                 "MAJOR:MINOR of a whole disk");
}

Status without_limit(Status cleared) {
  return is_gone(cleared) ? Status(Done{}) : cleared;
}

}  // namespace penstock
