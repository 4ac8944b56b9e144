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
#include "cgroup/cgroup_fs.h"
#include "cgroup/v2_layout.h"

namespace penstock {

struct V2Settings {
  std::string name = "penstock";  // one path component
  bool away_yields = true;        // false: away threads compete as equals; only
                                  // to measure the value of yielding
};

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
                                                V2Settings settings);

  Result<Home> home_of(const TaskId& task) const override;
  JobGroups job_groups_of(const ProcCgroups& groups) const override;
  bool is_frozen(const ProcCgroups& groups) const override;
  Status add_task(JobId job, const Home& home) override;
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
  Result<Pressure> pressure(std::string_view group) const override;
  Status set_cpu_limit(JobId job, const std::vector<Home>& homes,
                       uint32_t millicores) override;
  Status clear_cpu_limit(JobId job, const FindHome& find_home) override;
  Status remove_job(JobId job, const FindHome& find_home) override;
  Status sweep(const std::set<JobId>& alive,
               const FindHome& find_home) override;

 private:
  V2Backend(const CgroupFs& fs, const ProcReader& proc,
            const ThreadSched& sched, V2Settings settings)
      : fs_(&fs),
        proc_(&proc),
        sched_(&sched),
        settings_(std::move(settings)) {}

  // Bound of one series of moves: the caller may have threads to bring home
  // within 100 ms. It calls again for the rest. A first move takes 10 to 20 ms,
  // moves right after it 0.01 ms; on a busy machine each may take longer.
  static constexpr uint64_t kMove_ns = 100'000'000;
  // Per task or process: each thread costs a look.
  static constexpr size_t kMostThreads = 4096;

  struct KnownTask {
    SlurmGroups groups;
    bool prepared = false;  // has complete groups of ours
    int tries = 0;          // calls that left its home group incomplete
    int pause = 0;          // refresh() calls until the next try; < 0: since
    int next_pause = 1;     // refresh() calls
    Error failure;          // of the last try

    bool has_groups() const { return prepared || tries > 0; }
  };
  struct Limit {
    uint64_t wanted_bytes_per_s = 0;
    uint64_t written_bytes_per_s = 0;  // lower of wanted and the site's own
  };
  struct KnownJob {
    std::string path;
    std::map<std::string, KnownTask> tasks;  // by path
    CpuSet lent;
    std::map<std::string, Limit> limits;  // by device
    bool is_over = false;  // remove_job() was called but not all is restored

    // Job, step, `user` and task groups of all prepared tasks.
    std::set<std::string> levels() const;
  };

  // A step that had groups of ours. If Slurm meets one of them while it removes
  // an ended step, it leaves the step's own groups for ever. The step carries
  // the mark .step for a later run; the mark disappears with the directory.
  struct LeftStep {
    int looks = 0;  // calls of refresh() under watch without a process
    int tries = 0;  // to remove it
    std::optional<WriteWatch> begins;  // a starting step writes to this file
  };

  std::string home_dir(std::string_view task) const;
  std::string loader_dir(std::string_view task) const;
  // The task's group if path is its home group, else path itself.
  std::string task_of(std::string_view path) const;
  bool is_loader_dir(std::string_view path) const;
  std::string mark(const char* what) const { return settings_.name + what; }
  Result<KnownJob*> known(JobId job);
  Status check_lendable(const SlurmGroups& task) const;

  Status move_thread(pid_t tid, const std::string& group) const;
  Status move_process(pid_t tid, const std::string& from,
                      const std::string& to) const;
  Status move_processes(const std::set<pid_t>& threads, const std::string& from,
                        const std::string& to, uint64_t until_ns) const;
  Result<std::set<pid_t>> threads_in(const std::string& group) const;

  // v2_cpusets.cpp
  // The CPUs that Slurm gave the group, without our changes; empty if Slurm set
  // none on this group.
  Result<CpuSet> own_cpus(const std::string& group) const;
  Result<CpuSet> task_cpus(const SlurmGroups& task) const;
  Status widen(const std::string& group, const CpuSet& lent);
  Status fence(const std::string& task, const CpuSet& cpus);
  Status unfence(const std::string& task);
  Status fence_neighbours(const KnownJob& job, const SlurmGroups& task);

  // v2_loans.cpp
  Status widen_all(const std::set<std::string>& levels, const CpuSet& lent);
  void unprepare(KnownJob& job, KnownTask& task);
  Status prepare(JobId id, KnownJob& job, KnownTask& task);
  Status make_task_groups(JobId id, const SlurmGroups& task);
  Status fill_home(const std::string& task) const;
  Status set_loader_cpus(const std::string& task, const CpuSet& cpus) const;
  Status weigh(const KnownJob& job);
  Status restore_weight(const std::string& job);

  // v2_limit.cpp
  Status restore_cpu_limit(const std::string& job) const;

  // v2_remove.cpp
  void empty_task(const std::string& task, const FindHome& find_home);
  Status remove_task_groups(const std::string& task);
  Status restore_job(const std::string& job, const FindHome& find_home);
  bool is_populated(const std::string& group) const;
  // Whether the home group is gone, or a thread of the task is outside of both
  // groups.
  bool has_left_home(const std::string& task) const;
  void forget_ended_tasks(KnownJob& job);

  // v2_left.cpp
  void find_left_steps();
  void remove_what_slurm_left();
  void look_at_left_step(const std::string& path, LeftStep& step);
  void remove_step(const std::string& step);

  // v2_slurm.cpp: Slurm's present scopes and jobs, as paths.
  std::set<std::string> find_scopes(bool outside_slices) const;
  std::set<std::string> scopes() const;
  std::vector<std::string> job_dirs() const;
  std::vector<std::string> dirs_in(const std::string& path) const;

  // v2_io.cpp
  Result<KnownJob*> limited(JobId job);
  Status require_io(const KnownJob& job);
  Status write_limit(const std::string& job, const std::string& device,
                     uint64_t rate_bytes_per_s);
  Status put_limit(JobId id, KnownJob& job, const std::string& device,
                   uint64_t rate_bytes_per_s);
  Status look_at_limits(KnownJob& job) const;
  Status restore_limits(JobId id, KnownJob& job);
  std::map<std::string, std::string> former_limits(
      const std::string& job) const;
  Status mark_limits(const std::string& job,
                     const std::map<std::string, std::string>& former) const;
  Result<uint64_t> mark_limit(const std::string& job, const std::string& device,
                              uint64_t rate_bytes_per_s) const;
  Status restore_limit(const std::string& job, const std::string& device) const;

  const CgroupFs* fs_;
  const ProcReader* proc_;
  const ThreadSched* sched_;
  V2Settings settings_;
  std::map<JobId, KnownJob> jobs_;
  std::set<std::string> seen_scopes_;
  std::map<std::string, LeftStep> left_;
};

}  // namespace penstock
