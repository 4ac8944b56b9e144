// Backend on cgroup v2. Two groups inside each of Slurm's task groups T, so
// that Slurm still kills, accounts and limits their threads:
//
//   T/NAME_home     threaded; cpuset.cpus: the task's own CPUs; holds all
//                   threads that are not away
//   T/NAME_loader   threaded; cpuset.cpus: the lent CPUs; cpu.idle=1; holds the
//                   away threads
//
// Both are created when the task's first thread goes away, and removed with the
// task.
//
// A cpuset is bounded by its ancestors. So the cpusets that Slurm has set (the
// job's and `user`'s) are widened by the lent CPUs; NAME_home keeps the other
// threads on their own CPUs.
//
// cpu.idle orders threads only within a task; between jobs their weights
// decide. A borrower job therefore has cpu.weight 10 during the loan
// (docs/decisions/cgroup.md, 40). I/O limits are set on the job's group, as is
// the limit of CPU time during a measurement.
//
// Each change to Slurm's groups is recorded there with the former value, in
// extended attributes (trusted.NAME.*). A later run can restore it, even after
// kill -9.
#pragma once

#include <map>

#include "cgroup/backend.h"
#include "cgroup/v2_io.h"
#include "cgroup/v2_left.h"
#include "cgroup/v2_loan.h"
#include "cgroup/v2_scopes.h"
#include "cgroup/v2_tree.h"

namespace penstock {

class V2Backend final : public Backend {
 public:
  // fs (rooted at the unified hierarchy), proc and sched must outlive the
  // backend. Creates no groups yet.
  // Errors: kUnavailable  the unified hierarchy lacks cpu or cpuset; the
  //                       message gives the remedy;
  //         kNotFound     there is no unified hierarchy at fs;
  //         kInvalidArgument  the name is empty, begins with '.', or has '/'.
  [[nodiscard]] static Result<V2Backend> create(const CgroupFs& fs,
                                                const ProcReader& proc,
                                                const ThreadSched& sched,
                                                BackendSettings settings);

  Result<Home> home_of(const TaskId& task) const override;
  JobGroups job_groups_of(const ProcCgroups& groups) const override;
  bool is_frozen(const ProcCgroups& groups) const override;
  Status add_task(JobId job, const Home& home) override;
  Status give_way(JobId job) override;
  Status hold_back(JobId job, bool is_held) override;
  Status yields_to(const Home& home,
                   std::string_view lender_cpu_path) const override;
  Status set_away_cpus(JobId job, const CpuSet& cpus) override;
  Status refresh() override;
  Status send_away(JobId job, const Home& home) override;
  Status bring_home(const Home& home) override;
  Result<std::set<pid_t>> away_threads(JobId job) const override;
  Result<CpuSet> slurm_cpus() const override;
  // Checks only that io reaches the job: the limit on the job's group covers
  // all of its processes.
  Status attach_io(JobId job, const Home& home) override;
  Status detach_io(const Home&) override { return Done{}; }
  Status set_io_limit(JobId job, std::string_view device,
                      uint64_t rate_bytes_per_s) override;
  Status clear_io_limit(JobId job, std::string_view device) override;
  Result<uint64_t> io_read_bytes(JobId job,
                                 std::string_view device) const override;
  Result<uint64_t> cpu_usage_ns(std::string_view group) const override;
  Result<uint64_t> cpu_user_ns(std::string_view group) const override;
  Result<Pressure> pressure(std::string_view group) const override;
  Result<MemoryKills> memory_kills(std::string_view memory_path) const override;
  Result<CpuSet> cpuset_of(const Home& home) const override;
  Status set_cpu_limit(JobId job, const std::vector<Home>& homes,
                       uint32_t millicores) override;
  Status clear_cpu_limit(JobId job, const FindHome& find_home) override;
  Status remove_job(JobId job, const FindHome& find_home) override;
  Status sweep(const std::set<JobId>& alive,
               const FindHome& find_home) override;

 private:
  Result<uint64_t> cpu_time_ns(std::string_view group, const char* key) const;
  struct Job {
    Job(const V2Tree& tree, JobId id, const std::string& job)
        : path(job), loan(tree, id, job), io(tree, id, job) {}

    std::string path;
    V2Loan loan;
    V2IoLimits io;
  };

  explicit V2Backend(const V2Tree& tree)
      : tree_(tree), scopes_(tree), left_(tree) {}

  // Errors: `code`  add_task() found no group of the job.
  Result<Job*> known(JobId job, Code code);

  V2Tree tree_;
  V2Scopes scopes_;
  V2LeftSteps left_;
  std::map<JobId, Job> jobs_;
};

}  // namespace penstock
