#include "cgroup/thread_sched.h"

#include <sched.h>

#include <cerrno>
#include <string>
#include <vector>

namespace penstock {
namespace {

// More CPUs than any kernel supports: sched_getaffinity fails with EINVAL if
// the mask is smaller than the kernel's.
constexpr size_t kMaskCpus = 8192;
constexpr size_t kMaskBytes = kMaskCpus / 8;
static_assert(kMaskCpus >= CpuSet::kMaxCpus);

struct Mask {
  std::vector<cpu_set_t> words{kMaskBytes / sizeof(cpu_set_t)};
  cpu_set_t* get() { return words.data(); }
};

Status apply(pid_t tid, Mask& mask) {
  if (sched_setaffinity(tid, kMaskBytes, mask.get()) != 0) {
    return system_error(errno,
                        "cannot set affinity of thread " + std::to_string(tid));
  }
  return Done{};
}

}  // namespace

Result<CpuSet> ThreadSched::affinity(pid_t tid) const {
  Mask mask;
  if (sched_getaffinity(tid, kMaskBytes, mask.get()) != 0) {
    return system_error(
        errno, "cannot read affinity of thread " + std::to_string(tid));
  }
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CpuSet::kMaxCpus; ++cpu) {
    if (CPU_ISSET_S(static_cast<size_t>(cpu), kMaskBytes, mask.get())) {
      cpus.push_back(cpu);
    }
  }
  return CpuSet(std::move(cpus));
}

Status ThreadSched::set_affinity(pid_t tid, const CpuSet& cpus) const {
  Mask mask;
  for (int cpu : cpus.cpus()) {
    CPU_SET_S(static_cast<size_t>(cpu), kMaskBytes, mask.get());
  }
  return apply(tid, mask);
}

Status ThreadSched::set_widest_affinity(pid_t tid) const {
  Mask mask;
  for (size_t cpu = 0; cpu < kMaskCpus; ++cpu) {
    CPU_SET_S(cpu, kMaskBytes, mask.get());
  }
  return apply(tid, mask);
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
