// A thread's CPU affinity, also on machines with more than 1024 CPUs, for which
// cpu_set_t is too small. tid 0: the calling thread.
//
// Errors of every function: kNotFound  no such thread;  kPermissionDenied;
// kIo  with saved_errno (EINVAL: mask and cpuset have no CPU in common).
// Thread-safe.
#pragma once

#include <sys/types.h>

#include "common/result.h"
#include "common/units.h"

namespace penstock {

[[nodiscard]] Result<CpuSet> cpu_affinity(pid_t tid);
[[nodiscard]] Status set_cpu_affinity(pid_t tid, const CpuSet& cpus);
// Allows every CPU of the thread's cpuset, also after the cpuset changes.
[[nodiscard]] Status set_widest_cpu_affinity(pid_t tid);

}  // namespace penstock
