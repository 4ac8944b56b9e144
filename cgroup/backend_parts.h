// Code shared by the v1 and v2 backends. Internal to cgroup/.
#pragma once

#include <algorithm>

#include "cgroup/backend.h"
#include "cgroup/cgroup_fs.h"

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

// The thread's Home by find_home, if it is given and the Home is the present
// thread's.
std::optional<Home> verified_home(pid_t tid, const FindHome& find_home,
                                  const ProcReader& proc);

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

// The threads or processes that a control file lists; none if there is no file.
[[nodiscard]] Result<std::set<pid_t>> read_pids(const CgroupFs& fs,
                                                const std::string& file);

// A kInvalidArgument error; the message gives the allowed form.
Error bad_device(std::string_view device);
// Errors: kInvalidArgument  device is malformed, or the rate is 0.
[[nodiscard]] Status check_io_limit(std::string_view device,
                                    uint64_t rate_bytes_per_s);
// Result of a write of an I/O limit: bad_device() if the kernel refused it.
Status device_checked(Status written, std::string_view device);
// Result of a write of cpuset.cpus: kInvalidArgument if the kernel refused the
// CPUs.
Status cpus_checked(Status written);

// Error of a thread's failed way to its away CPUs, with that of its way back.
Error not_sent(Error sent, Status back);

// Whether the group or device was removed, or the thread has ended.
inline bool is_gone(const Status& status) {
  return !status && (status.error().code == Code::kNotFound ||
                     status.error().saved_errno == ENODEV);
}
inline Status unless_gone(Status status) {
  return is_gone(status) ? Status(Done{}) : status;
}

// Keeps the first failure of a sequence whose steps are all tried.
inline void note_first(Status& first, Status step) {
  if (first && !step) first = std::move(step);
}

}  // namespace penstock
