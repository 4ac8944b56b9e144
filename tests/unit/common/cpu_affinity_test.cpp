#include "common/cpu_affinity.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {
constexpr size_t kKernelCpus = 4096;
CpuSet kernels_mask;
}  // namespace

// Stand-ins for libc's functions: a kernel for 4096 CPUs, which refuses smaller
// masks. Thread 1 is the only one.
extern "C" int sched_getaffinity(pid_t tid, size_t bytes,
                                 cpu_set_t* mask) noexcept {
  errno = tid != 1 ? ESRCH : EINVAL;
  if (tid != 1 || bytes < kKernelCpus / 8) return -1;
  std::memset(mask, 0, bytes);
  for (int cpu : kernels_mask.cpus()) CPU_SET_S(size_t(cpu), bytes, mask);
  return 0;
}

extern "C" int sched_setaffinity(pid_t, size_t bytes,
                                 const cpu_set_t* mask) noexcept {
  std::vector<int> cpus;
  for (size_t cpu = 0; cpu < std::min(8 * bytes, kKernelCpus); ++cpu) {
    if (CPU_ISSET_S(cpu, bytes, mask)) cpus.push_back(int(cpu));
  }
  kernels_mask = CpuSet(std::move(cpus));
  return 0;
}

TEST_CASE("CPUs above 1023 are set and read") {
  const CpuSet high({7, 1024, 4095});
  REQUIRE(set_cpu_affinity(1, high));
  CHECK(*cpu_affinity(1) == high);
  REQUIRE(set_widest_cpu_affinity(1));
  CHECK(cpu_affinity(1)->size() == kKernelCpus);
}

TEST_CASE("the affinity of a thread that has ended is not found") {
  CHECK(cpu_affinity(2).error().code == Code::kNotFound);
}
