#include "common/cpu_affinity.h"

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

Result<CpuSet> cpu_affinity(pid_t tid) {
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

Status set_cpu_affinity(pid_t tid, const CpuSet& cpus) {
  Mask mask;
  for (int cpu : cpus.cpus()) {
    CPU_SET_S(static_cast<size_t>(cpu), kMaskBytes, mask.get());
  }
  return apply(tid, mask);
}

Status set_widest_cpu_affinity(pid_t tid) {
  Mask mask;
  for (size_t cpu = 0; cpu < kMaskCpus; ++cpu) {
    CPU_SET_S(cpu, kMaskBytes, mask.get());
  }
  return apply(tid, mask);
}

}  // namespace penstock
