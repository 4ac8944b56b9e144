// Affinity (common/cpu_affinity.h) and scheduling policy of single threads. The
// functions are virtual so that tests inject failures.
#pragma once

#include <sys/types.h>

#include "common/result.h"
#include "common/units.h"

namespace penstock {

struct SchedPolicy {
  int policy = 0;    // SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO, ...
  int priority = 0;  // 0 except for the real-time policies

  friend bool operator==(const SchedPolicy&, const SchedPolicy&) = default;
};

// Errors of every function: kNotFound  no such thread;  kPermissionDenied;
// kIo  with saved_errno (EINVAL: mask and cpuset have no CPU in common).
// Thread-safe.
class ThreadSched {
 public:
  virtual ~ThreadSched() = default;

  [[nodiscard]] virtual Result<CpuSet> affinity(pid_t tid) const;
  [[nodiscard]] virtual Status set_affinity(pid_t tid,
                                            const CpuSet& cpus) const;
  // Allows every CPU of the thread's cpuset, also after the cpuset changes.
  [[nodiscard]] virtual Status set_widest_affinity(pid_t tid) const;

  [[nodiscard]] virtual Result<SchedPolicy> policy(pid_t tid) const;
  [[nodiscard]] virtual Status set_policy(pid_t tid,
                                          const SchedPolicy& policy) const;
};

}  // namespace penstock
