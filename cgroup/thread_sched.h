// Affinity and scheduling policy of single threads: the system calls behind
// an interface, so that tests make them fail.
#pragma once

#include <sys/types.h>

#include "common/result.h"
#include "common/units.h"

namespace penstock {

struct SchedPolicy {
  int policy = 0;    // SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO, ...
  int priority = 0;  // 0 but for the real-time policies

  friend bool operator==(const SchedPolicy&, const SchedPolicy&) = default;
};

// Errors of every function: kNotFound  no such thread;  kPermissionDenied;
// kIo  with saved_errno (EINVAL: the mask holds no CPU of the cpuset).
// Thread-safe.
class ThreadSched {
 public:
  virtual ~ThreadSched() = default;

  [[nodiscard]] virtual Result<CpuSet> affinity(pid_t tid) const;
  [[nodiscard]] virtual Status set_affinity(pid_t tid,
                                            const CpuSet& cpus) const;
  // Every CPU that the thread's cpuset has, now and after the cpuset changes.
  [[nodiscard]] virtual Status set_widest_affinity(pid_t tid) const;

  [[nodiscard]] virtual Result<SchedPolicy> policy(pid_t tid) const;
  [[nodiscard]] virtual Status set_policy(pid_t tid,
                                          const SchedPolicy& policy) const;
};

}  // namespace penstock
