// What the backends of both versions do alike. Internal to cgroup/.
#pragma once

#include <algorithm>

#include "cgroup/backend.h"

namespace penstock {

// Errors: kInvalidArgument  not one path component of our own.
[[nodiscard]] Status check_group_name(const std::string& name);

// A thread as it is now; all of it is of one thread.
struct ThreadNow {
  TaskId id;
  ProcCgroups groups;
  CpuSet affinity;
  SchedPolicy policy;
};
// Errors: kNotFound  it is gone, or is another one by now.
[[nodiscard]] Result<ThreadNow> read_thread(const ProcReader& proc,
                                            const ThreadSched& sched,
                                            const TaskId& task);

// The mask that a thread had at home; where none of its CPUs is left there, or
// none is given, all that are.
[[nodiscard]] Status restore_affinity(const ThreadSched& sched, pid_t tid,
                                      const CpuSet& affinity);

// CFS bandwidth: so much CPU time in each period. A tenth of the usual period,
// so that a limited job stands still for less than one of its batches; the
// kernel takes no quota under 1 ms, a tenth of a core.
inline constexpr uint32_t kLimitPeriod_us = 10'000;
inline uint32_t limit_quota_us(uint32_t millicores) {
  // More than any machine has is no limit, and would not fit.
  constexpr uint32_t kMost = UINT32_MAX / (kLimitPeriod_us / 1000);
  const uint32_t bounded =
      std::clamp(millicores, Backend::kMinLimitMillicores, kMost);
  return bounded * (kLimitPeriod_us / 1000);
}

// kInvalidArgument, says what is allowed.
Error bad_device(std::string_view device);

// No group or no device any more means no limit either: Done.
Status without_limit(Status cleared);

// The group or the thread was removed or has ended.
inline bool is_gone(const Status& status) {
  return !status && (status.error().code == Code::kNotFound ||
                     status.error().saved_errno == ENODEV);
}

// Keeps the first failure of a row of steps that are all tried.
inline void note_first(Status& first, Status step) {
  if (first && !step) first = std::move(step);
}

}  // namespace penstock
