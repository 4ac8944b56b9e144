// What the node agent asks of the kernel's control groups, whichever version
// of them the machine has. v1: cgroup/v1_backend.h, v2: cgroup/v2_backend.h.
//
// Groups of ours are made at first use and carry the configured name. The
// backend holds no record of who is away: the caller keeps each thread's Home.
//
// Cost (kernel 6.18, 2 CPUs; tests/unit/cgroup/move_latency_test): the first
// move of a thread or process after about 20 ms without one waits for an RCU
// grace period, and fork and exit wait with it on the whole machine; moves
// right after it cost 0.01 ms. So move in batches: 16 threads come home in
// 10 ms (median; p99 21 ms) just as one does. set_away_cpus and set_io_limit
// move nothing: 0.3 ms. (v2: but for the first set_away_cpus of a task.)
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
#include "common/result.h"
#include "common/units.h"

namespace penstock {

using JobId = uint32_t;

// Where a thread belongs; taken while it is there. Paths are as in
// /proc/TID/cgroup: "/slurm_n1/uid_1000/job_7/step_0". With v2 all are one.
struct Home {
  TaskId task;
  std::string cpuset_path;
  std::string cpu_path;
  std::string blkio_path;
  CpuSet affinity;
  SchedPolicy policy;
  std::string job_path;  // JobGroups::tracked
};

// Slurm's groups of the job that a thread is in, as in /proc/TID/cgroup; ""
// where it is in none.
struct JobGroups {
  std::string tracked;    // that Slurm kills the job by
  std::string accounted;  // that counts its CPU time
};

// How long some thread of a group was held up for want of CPU, and of I/O, by
// the kernel's pressure stall information ("some"), since the group was made.
// Both may be so at once.
struct Pressure {
  uint64_t cpu_us = 0;
  uint64_t io_us = 0;
};

// The Home of a thread found in one of our groups, where the caller knows it.
using FindHome = std::function<std::optional<Home>(pid_t tid)>;

class Backend {
 public:
  virtual ~Backend() = default;

  // Reads where a thread is now. A thread in a group of ours is
  // kInvalidArgument: that is not its home.
  // Errors: kNotFound  it is gone, or starttime_ticks is given and differs.
  [[nodiscard]] virtual Result<Home> home_of(const TaskId& task) const = 0;

  virtual JobGroups job_groups_of(const ProcCgroups& groups) const = 0;

  // Whether all processes of the process's group are frozen, as scontrol
  // suspend does it to a step.
  virtual bool is_frozen(const ProcCgroups& groups) const = 0;

  // Makes a task of the job known, before anything is asked for its threads.
  // home: of its first process. May be repeated.
  // Errors: kUnavailable  nothing can be lent to it on this machine: says why
  //                       and what the admin can do.
  [[nodiscard]] virtual Status add_task(JobId job, const Home& home) = 0;

  // An away thread of that home gives way at once to a thread in
  // lender_cpu_path; after an error do not lend to it.
  // Errors: kUnavailable  never on this machine: says why;
  //         kNotFound     not now: one of them has no CPUs of Slurm's.
  [[nodiscard]] virtual Status yields_to(
      const Home& home, std::string_view lender_cpu_path) const = 0;

  // The CPUs that the job's away threads run on; threads that are away leave
  // removed CPUs and spread over added ones at once. Empty: nothing is lent any
  // more; what is still away stays where it is until it is brought home.
  // Errors: kInvalidArgument  cpus has a CPU the machine lacks (v2: said when
  //                           a thread is away or goes);
  //         kUnavailable      add_task() was not done.
  [[nodiscard]] virtual Status set_away_cpus(JobId job, const CpuSet& cpus) = 0;

  // Puts back what others have overwritten in Slurm's groups, of CPUs, weights
  // and I/O limits, and takes away what tasks that have ended left. To be
  // called twice a second.
  [[nodiscard]] virtual Status refresh() = 0;

  // Moves one thread to the job's away CPUs. REQUIRES: set_away_cpus(job).
  // On any error the thread is at home, unmodified (or gone); should even the
  // way back fail, the message says so, and bring_home may be tried again.
  // Errors: kNotFound  it is gone;  kUnavailable  no away CPUs are set;
  //         kLimit  (v2) not yet: its task has many processes, which are being
  //                 moved; call again.
  [[nodiscard]] virtual Status send_away(JobId job, const Home& home) = 0;

  // Brings a thread back as it was. Where its home cpuset has been removed
  // meanwhile, into the nearest ancestor that exists. Every step is tried,
  // also after one failed; the first error is returned. May be repeated.
  // Errors: kNotFound  it is gone.
  [[nodiscard]] virtual Status bring_home(const Home& home) = 0;

  // The threads in the job's away group, whoever put them there: a thread that
  // was made by one that is away is born there.
  [[nodiscard]] virtual Result<std::set<pid_t>> away_threads(
      JobId job) const = 0;

  // The CPUs of every job of Slurm's that has a process now, announced to us
  // or not.
  [[nodiscard]] virtual Result<CpuSet> slurm_cpus() const = 0;

  // Puts a whole process (all threads, later children too) under the job's
  // I/O limit, and back. home: of the process's main thread.
  [[nodiscard]] virtual Status attach_io(JobId job, const Home& home) = 0;
  [[nodiscard]] virtual Status detach_io(const Home& home) = 0;

  // Limits what the job's attached processes read from a block device.
  //   device  "MAJOR:MINOR"
  // Errors: kInvalidArgument  device is malformed or unknown, or rate is 0;
  //         kUnavailable  this machine cannot: says what the admin can do;
  //         kNotFound  (v2) add_task() has found no group of Slurm's.
  [[nodiscard]] virtual Status set_io_limit(JobId job, std::string_view device,
                                            uint64_t rate_bytes_per_s) = 0;
  [[nodiscard]] virtual Status clear_io_limit(JobId job,
                                              std::string_view device) = 0;
  // Bytes that the job's attached processes have read from the device. Counts
  // from the first limit that any group set on the device (the kernel counts
  // nothing before): 0 where none was.
  [[nodiscard]] virtual Result<uint64_t> io_read_bytes(
      JobId job, std::string_view device) const = 0;

  // CPU time of a group and of all below it: JobGroups::accounted.
  [[nodiscard]] virtual Result<uint64_t> cpu_usage_ns(
      std::string_view cpuacct_path) const = 0;

  // Of a group and of all below it: JobGroups::accounted.
  // Errors: kUnavailable  v1, or a kernel without pressure stall information.
  [[nodiscard]] virtual Result<Pressure> pressure(
      std::string_view accounted_path) const = 0;

  // Holds the job's processes, trainer and loader alike, and all that they
  // start later to so much CPU time together; for measuring what a job does
  // with less than it has. homes: of their main threads; may be repeated, with
  // other processes or another amount. millicores: kMinLimitMillicores or more.
  // Errors: kUnavailable  this machine cannot: says why;
  //         kNotFound     (v2) add_task() has found no group of Slurm's.
  static constexpr uint32_t kMinLimitMillicores = 100;
  [[nodiscard]] virtual Status set_cpu_limit(JobId job,
                                             const std::vector<Home>& homes,
                                             uint32_t millicores) = 0;
  // Done as well where there is none.
  [[nodiscard]] virtual Status clear_cpu_limit(JobId job,
                                               const FindHome& find_home) = 0;

  // Brings home what is in the job's groups and removes them, and our parent
  // groups with the last job. A thread that find_home does not know goes where
  // its process's parent is. Done as well where there is nothing.
  // Errors: kUnavailable  a group is still busy: call again.
  [[nodiscard]] virtual Status remove_job(JobId job,
                                          const FindHome& find_home) = 0;

  // remove_job for every job found under our name, a crashed run's too, that
  // is not alive; goes on after an error and returns the first.
  [[nodiscard]] virtual Status sweep(const std::set<JobId>& alive,
                                     const FindHome& find_home) = 0;
};

}  // namespace penstock
