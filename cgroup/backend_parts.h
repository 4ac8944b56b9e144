// Code shared by the v1 and v2 backends. Internal to cgroup/.
#pragma once

#include <algorithm>

#include "cgroup/backend.h"

namespace penstock {

// Errors: kInvalidArgument  empty, begins with '.', or contains '/'.
[[nodiscard]] Status check_group_name(const std::string& name);

// A thread's present state; all fields belong to the same thread.
struct ThreadNow {
  TaskId id;
  ProcCgroups groups;
  CpuSet affinity;
  SchedPolicy policy;
};
// Errors: kNotFound  the thread ended, or another thread has its tid now.
[[nodiscard]] Result<ThreadNow> read_thread(const ProcReader& proc,
                                            const ThreadSched& sched,
                                            const TaskId& task);

// Sets a thread's home affinity. If `affinity` is empty, or shares no CPU with
// the thread's cpuset, the thread gets the whole cpuset.
[[nodiscard]] Status restore_affinity(const ThreadSched& sched, pid_t tid,
                                      const CpuSet& affinity);

// CFS bandwidth period. A tenth of the kernel's default, so that throttling
// stops a job for less than the time of one batch. The kernel's minimum quota
// is 1 ms, here a tenth of a core.
inline constexpr uint32_t kLimitPeriod_us = 10'000;
inline uint32_t limit_quota_us(uint32_t millicores) {
  // Keeps the product within uint32_t; no machine has so many cores.
  constexpr uint32_t kMost = UINT32_MAX / (kLimitPeriod_us / 1000);
  const uint32_t bounded =
      std::clamp(millicores, Backend::kMinLimitMillicores, kMost);
  return bounded * (kLimitPeriod_us / 1000);
}

// A kInvalidArgument error; the message gives the allowed form.
Error bad_device(std::string_view device);

// Turns is_gone() errors into Done: without the group or device there is no
// limit.
Status without_limit(Status cleared);

// Whether the group was removed or the thread has ended.
inline bool is_gone(const Status& status) {
  return !status && (status.error().code == Code::kNotFound ||
                     status.error().saved_errno == ENODEV);
}

// Keeps the first failure of a sequence whose steps are all tried.
inline void note_first(Status& first, Status step) {
  if (first && !step) first = std::move(step);
}

}  // namespace penstock
