#include "cgroup/thread_sched.h"

#include <sched.h>

#include <cerrno>
#include <string>

#include "common/cpu_affinity.h"

namespace penstock {

Result<CpuSet> ThreadSched::affinity(pid_t tid) const {
  return cpu_affinity(tid);
}

Status ThreadSched::set_affinity(pid_t tid, const CpuSet& cpus) const {
  return set_cpu_affinity(tid, cpus);
}

Status ThreadSched::set_widest_affinity(pid_t tid) const {
  return set_widest_cpu_affinity(tid);
}

Result<SchedPolicy> ThreadSched::policy(pid_t tid) const {
  int policy = sched_getscheduler(tid);
  sched_param param{};
  if (policy < 0 || sched_getparam(tid, &param) != 0) {
    return system_error(errno,
                        "cannot read policy of thread " + std::to_string(tid));
  }
  return SchedPolicy{policy, param.sched_priority};
}

Status ThreadSched::set_policy(pid_t tid, const SchedPolicy& policy) const {
  sched_param param{};
  param.sched_priority = policy.priority;
  if (sched_setscheduler(tid, policy.policy, &param) != 0) {
    return system_error(errno,
                        "cannot set policy of thread " + std::to_string(tid));
  }
  return Done{};
}

}  // namespace penstock
