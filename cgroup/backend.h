// The node agent's interface to the kernel's control groups, v1 or v2.
// v1: cgroup/v1_backend.h, v2: cgroup/v2_backend.h.
//
// A thread is "away" while it runs on CPUs lent to its job; otherwise it is
// "home". Our groups are created at first use and carry the configured name.
// The backend keeps no record of away threads: the caller keeps each Home.
//
// Cost (kernel 6.18, 2 CPUs; tests/unit/cgroup/move_latency_test): the first
// move after about 20 ms without one waits for an RCU grace period; fork and
// exit on the whole machine wait with it. Moves right after it cost 0.01 ms.
//
// So move in batches: 16 threads come home in 10 ms (median; p99 21 ms), as
// does one. set_away_cpus and set_io_limit move nothing and take 0.3 ms.
// On v2 the first send_away of a task moves all of the task's processes.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cgroup/proc_reader.h"
#include "cgroup/thread_sched.h"
#include "common/job_id.h"
#include "common/result.h"
#include "common/units.h"

namespace penstock {

struct BackendSettings {
  std::string name = "penstock";  // of our groups; one path component
  bool away_yields = true;        // false: away threads compete as equals; only
                                  // to measure the value of yielding
  bool always_moves = false;      // also where a move may wait for ever
  // every_attach_locks() of cgroup/attach_lock.h. True: no process's main
  // thread is moved; on v2 nothing is lent.
  bool every_attach_locks = false;
};

// A thread's groups, affinity and policy, recorded while it is at home. Paths
// are as in /proc/TID/cgroup: "/slurm_n1/uid_1000/job_7/step_0". On v2 the
// three group paths are the same.
struct Home {
  TaskId task;
  std::string cpuset_path;
  std::string cpu_path;
  std::string blkio_path;
  CpuSet affinity;
  SchedPolicy policy;
  std::string job_path;  // JobGroups::tracked
};

// Slurm's groups for a thread's job, paths as in /proc/TID/cgroup; "" where
// the thread is in no such group.
struct JobGroups {
  std::string tracked;    // Slurm kills the job through this group
  std::string accounted;  // counts the job's CPU time
  std::string memory;     // limits the memory of the thread's process, or (v2)
                          // of the job
};

// What became of a group's processes for want of memory.
struct MemoryKills {
  uint64_t killed = 0;       // processes, since the group's creation
  uint64_t limit_bytes = 0;  // that they met; 0: none
};

// Pressure stall information of a group ("some"): time since the group's
// creation in which at least one thread waited for CPU, or for I/O. The two
// times may overlap.
struct Pressure {
  uint64_t cpu_us = 0;
  uint64_t io_us = 0;
};

// Returns the Home of a thread found in one of our groups; nullopt: unknown.
using FindHome = std::function<std::optional<Home>(pid_t tid)>;

class Backend {
 public:
  virtual ~Backend() = default;

  // Reads a thread's present groups, affinity and policy as its Home.
  // Errors: kNotFound  the thread ended, or starttime_ticks is not 0 and
  //                    differs;
  //         kInvalidArgument  the thread is away (in one of our groups).
  [[nodiscard]] virtual Result<Home> home_of(const TaskId& task) const = 0;

  virtual JobGroups job_groups_of(const ProcCgroups& groups) const = 0;

  // Whether the process's group is frozen (scontrol suspend freezes a step).
  virtual bool is_frozen(const ProcCgroups& groups) const = 0;

  // Registers a task of the job; call before any call for the task's threads.
  // home: of the task's first process. May be repeated.
  // Errors: kUnavailable  no CPUs can be lent to the task on this machine; the
  //                       message gives the reason and the admin's remedy.
  [[nodiscard]] virtual Status add_task(JobId job, const Home& home) = 0;

  // For a job that gives way on its own CPUs, too, and sends all its threads
  // away (a guest). Call it after add_task(), before other calls for the job.
  // Errors: kUnavailable  not on this machine; the message gives the reason
  [[nodiscard]] virtual Status give_way(JobId job) = 0;

  // While held back, the job's away threads get about kMinLimitMillicores
  // together, on whatever CPUs they are. REQUIRES: give_way(job).
  [[nodiscard]] virtual Status hold_back(JobId job, bool is_held) = 0;

  // Done: an away thread with this home gives way at once to a thread in
  // lender_cpu_path. After an error do not lend to it.
  // Errors: kUnavailable  never on this machine; the message gives the reason;
  //         kNotFound     not now: Slurm gave one of the two no CPUs.
  [[nodiscard]] virtual Status yields_to(
      const Home& home, std::string_view lender_cpu_path) const = 0;

  // Sets the CPUs for the job's away threads. Away threads leave removed CPUs
  // and spread over added ones at once. Empty: the loan ends; threads still
  // away keep their CPUs until bring_home.
  // Errors: kInvalidArgument  the machine lacks one of the CPUs (v2 reports
  //                           this only once a thread is away or is sent);
  //         kUnavailable      (v2) no add_task() before.
  [[nodiscard]] virtual Status set_away_cpus(JobId job, const CpuSet& cpus) = 0;

  // Restores the CPUs, weights and I/O limits that others have overwritten in
  // Slurm's groups, and removes the groups of ended tasks. Call it twice a
  // second.
  [[nodiscard]] virtual Status refresh() = 0;

  // Moves one thread to the job's away CPUs. REQUIRES: set_away_cpus(job).
  // No move waits for the lock of a process's memory (cgroup/attach_lock.h).
  // On any error the thread is at home, unmodified (or has ended). If even the
  // way back fails, the message says so; bring_home may be retried.
  // Errors: kNotFound  the thread ended;
  //         kUnavailable  no away CPUs are set, or (v1) the move of a process's
  //                       main thread would wait for that lock;
  //         kLimit  (v2) the move of the task's processes is not complete;
  //                 call again.
  [[nodiscard]] virtual Status send_away(JobId job, const Home& home) = 0;

  // Restores a thread's groups, affinity and policy. A removed home group is
  // replaced by its nearest existing ancestor (v2: by the task's own group).
  // Every step is tried, even after a failure; returns the first error. May be
  // repeated.
  // Errors: kNotFound  the thread ended;
  //         kUnavailable  (v1) the thread stays, as in send_away(). At the
  //                       loan's end it gets its home's CPUs, and yields there.
  [[nodiscard]] virtual Status bring_home(const Home& home) = 0;

  // All threads in the job's away group. Includes threads that send_away did
  // not move: an away thread creates its new threads there.
  [[nodiscard]] virtual Result<std::set<pid_t>> away_threads(
      JobId job) const = 0;

  // The CPUs of every Slurm job that has a process now, whether or not the job
  // was registered.
  [[nodiscard]] virtual Result<CpuSet> slurm_cpus() const = 0;

  // Puts a whole process (all its threads and future children) under the job's
  // I/O limit, or out of it. home: of the process's main thread.
  [[nodiscard]] virtual Status attach_io(JobId job, const Home& home) = 0;
  [[nodiscard]] virtual Status detach_io(const Home& home) = 0;

  // Limits the rate at which the job's attached processes read from a block
  // device.
  //   device  "MAJOR:MINOR"
  // Errors: kInvalidArgument  device is malformed or unknown, or the rate is 0;
  //         kUnavailable  unsupported here; the message gives the remedy;
  //         kNotFound  (v2) the job is unknown: add_task() found no group.
  [[nodiscard]] virtual Status set_io_limit(JobId job, std::string_view device,
                                            uint64_t rate_bytes_per_s) = 0;
  [[nodiscard]] virtual Status clear_io_limit(JobId job,
                                              std::string_view device) = 0;
  // Bytes that the job's attached processes have read from the device. The
  // kernel counts only from the first limit that any group set on the device;
  // 0 before that.
  [[nodiscard]] virtual Result<uint64_t> io_read_bytes(
      JobId job, std::string_view device) const = 0;

  // CPU time of a group (JobGroups::accounted) and its descendants.
  [[nodiscard]] virtual Result<uint64_t> cpu_usage_ns(
      std::string_view cpuacct_path) const = 0;

  // The part of it outside of the kernel.
  [[nodiscard]] virtual Result<uint64_t> cpu_user_ns(
      std::string_view cpuacct_path) const = 0;

  // Pressure of a group (JobGroups::accounted) and its descendants.
  // Errors: kUnavailable  v1, or a kernel without pressure stall information.
  [[nodiscard]] virtual Result<Pressure> pressure(
      std::string_view accounted_path) const = 0;

  // Of a group (JobGroups::memory).
  [[nodiscard]] virtual Result<MemoryKills> memory_kills(
      std::string_view memory_path) const = 0;

  // The CPUs of a home's cpuset, which its affinity may narrow.
  [[nodiscard]] virtual Result<CpuSet> cpuset_of(const Home& home) const = 0;

  // Limits the total CPU time of the job's processes, trainer and loader alike,
  // and of their future children. Used to measure a job with fewer CPUs.
  //   homes       of the processes' main threads
  //   millicores  kMinLimitMillicores or more
  // May be repeated, with other processes or another limit.
  // Errors: kUnavailable  unsupported here; the message gives the reason;
  //         kNotFound  (v2) the job is unknown: add_task() found no group.
  static constexpr uint32_t kMinLimitMillicores = 100;
  [[nodiscard]] virtual Status set_cpu_limit(JobId job,
                                             const std::vector<Home>& homes,
                                             uint32_t millicores) = 0;
  // Done if there is no limit.
  [[nodiscard]] virtual Status clear_cpu_limit(JobId job,
                                               const FindHome& find_home) = 0;

  // Brings home all threads in the job's groups and removes these groups; with
  // the last job also our parent groups. A thread unknown to find_home gets its
  // process's or parent's home (v2: its task's own group). Done if the job has
  // no groups.
  // Errors: kUnavailable  a group is still busy; call again.
  [[nodiscard]] virtual Status remove_job(JobId job,
                                          const FindHome& find_home) = 0;

  // remove_job for every job that has groups under our name and is not in
  // `alive`, including those of a crashed run. Continues after an error and
  // returns the first.
  [[nodiscard]] virtual Status sweep(const std::set<JobId>& alive,
                                     const FindHome& find_home) = 0;
};

}  // namespace penstock
