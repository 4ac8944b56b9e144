// Backend on cgroup v1.
//
//   cpuset/NAME/job_J   cpuset.cpus: the lent CPUs
//   cpu/NAME            cpu.idle=1 (kernels before 5.15: cpu.shares=2)
//   cpu/NAME/job_J
//   cpu/NAME_limit/job_J   cpu.cfs_quota_us: during a measurement
//   blkio/NAME/job_J    I/O limits; v1 does not pass them down to children
//
// Where cpu and cpuacct share a hierarchy, away threads stay in Slurm's cpu
// group, so that Slurm still accounts for them, and get SCHED_IDLE. SCHED_IDLE
// yields only within one cpu group (measured: a lender in a sibling group keeps
// 0.50 of its rate).
//
// The backend creates and removes none of Slurm's groups. It writes there only
// to move a thread or process back to its former group.
#pragma once

#include <map>

#include "cgroup/backend.h"
#include "cgroup/v1_tree.h"

namespace penstock {

class V1Backend final : public Backend {
 public:
  // fs, proc and sched must outlive the backend. Creates no groups yet.
  // Errors: kUnavailable  cpu or cpuset is not among the mounts;
  //         kInvalidArgument  the name is empty, begins with '.', or has '/'.
  [[nodiscard]] static Result<V1Backend> create(const CgroupFs& fs,
                                                const ProcReader& proc,
                                                const ThreadSched& sched,
                                                V1Mounts mounts,
                                                BackendSettings settings);

  Result<Home> home_of(const TaskId& task) const override;
  JobGroups job_groups_of(const ProcCgroups& groups) const override;
  bool is_frozen(const ProcCgroups& groups) const override;
  // Nothing to do: our groups are outside of Slurm's.
  Status add_task(JobId, const Home&) override { return Done{}; }
  Status give_way(JobId job) override;
  Status hold_back(JobId job, bool is_held) override;
  Status yields_to(const Home& home,
                   std::string_view lender_cpu_path) const override;
  Status set_away_cpus(JobId job, const CpuSet& cpus) override;
  // Nothing to do: Slurm does not write to our groups.
  Status refresh() override { return Done{}; }
  Status send_away(JobId job, const Home& home) override;
  Status bring_home(const Home& home) override;
  Result<std::set<pid_t>> away_threads(JobId job) const override;
  Result<CpuSet> slurm_cpus() const override;
  Status attach_io(JobId job, const Home& home) override;
  Status detach_io(const Home& home) override;
  Status set_io_limit(JobId job, std::string_view device,
                      uint64_t rate_bytes_per_s) override;
  Status clear_io_limit(JobId job, std::string_view device) override;
  Result<uint64_t> io_read_bytes(JobId job,
                                 std::string_view device) const override;
  Result<uint64_t> cpu_usage_ns(std::string_view cpuacct_path) const override;
  Result<uint64_t> cpu_user_ns(std::string_view cpuacct_path) const override;
  Result<Pressure> pressure(std::string_view) const override {
    return Error{Code::kUnavailable, 0, "cgroup v1 counts no pressure"};
  }
  Result<MemoryKills> memory_kills(std::string_view memory_path) const override;
  Result<CpuSet> cpuset_of(const Home& home) const override;
  Status set_cpu_limit(JobId job, const std::vector<Home>& homes,
                       uint32_t millicores) override;
  Status clear_cpu_limit(JobId job, const FindHome& find_home) override;
  Status remove_job(JobId job, const FindHome& find_home) override;
  Status sweep(const std::set<JobId>& alive,
               const FindHome& find_home) override;

 private:
  V1Backend(V1Tree tree, const ProcReader& proc, const ThreadSched& sched)
      : tree_(std::move(tree)), proc_(&proc), sched_(&sched) {}

  // v1_io.cpp
  Result<uint64_t> cpu_time_ns(std::string_view cpuacct_path,
                               const char* file) const;

  Status make_cpuset(JobId job);
  Status make_cpu(JobId job);
  Status make_blkio(JobId job);
  Status yield(JobId job, pid_t tid) const;

  // v1_attach.cpp
  Status keep_on_home_cpus(JobId job);

  // v1_limit.cpp
  // The cpu group from which a job's limited processes came; other paths are
  // returned unchanged.
  std::string unlimited_path(std::string_view path) const;

  // v1_remove.cpp
  Home ancestors_home(pid_t tid) const;
  Home guess_home(pid_t tid) const;
  Home find_or_guess(pid_t tid, const FindHome& find_home) const;
  Status empty_groups(JobId job, const FindHome& find_home);
  Status remove_groups(JobId job);
  void remove_parents();

  V1Tree tree_;
  const ProcReader* proc_;
  const ThreadSched* sched_;
  // Former cpu group of each job's limited processes.
  std::map<JobId, std::string> limited_from_;
};

}  // namespace penstock
