// Backend on cgroup v2. In each task's own group T of Slurm's, so that Slurm
// goes on to kill, count and limit everything in it:
//
//   T/NAME_home     threaded; cpuset.cpus: the task's own CPUs; everyone but
//                   those who are away
//   T/NAME_loader   threaded; cpuset.cpus: the lent CPUs; cpu.idle=1; the away
//
// Both are made when the first thread of the task goes away and removed with
// the task. A cpuset reaches no further than those above it, so those that
// Slurm has set (the job's and `user`'s) are widened by what is lent; NAME_home
// keeps everyone else in. Weights count between jobs, not between threads of
// several jobs: a job that CPUs are lent to has cpu.weight 10 meanwhile. Limits
// of I/O stand at the job, and that of CPU time while a job is measured.
//
// What is changed of Slurm's groups is marked there with what it was (extended
// attributes trusted.NAME.*), so that a later run can restore it, also after
// kill -9.
#pragma once

#include <map>

#include "cgroup/backend.h"
#include "cgroup/cgroup_fs.h"
#include "cgroup/v2_layout.h"

namespace penstock {

struct V2Settings {
  std::string name = "penstock";  // one path component
  bool away_yields = true;        // false: as everyone else; only to show what
                                  // yielding is worth
};

class V2Backend final : public Backend {
 public:
  // fs (whose root is the unified hierarchy's), proc and sched outlive the
  // backend. Makes nothing yet.
  // Errors: kUnavailable  the machine has no unified hierarchy, or without cpu
  //                       and cpuset in it: says what to do;
  //         kInvalidArgument  name is empty, or has '/' or ".." in it.
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
  // Whoever is in the job is under its limit.
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

  // The caller may have threads to bring home within 100 ms, and asks again for
  // what was not moved by then. A first move takes 10 to 20 ms, those right
  // after it 0.01; on a busy machine each may take more.
  static constexpr uint64_t kMove_ns = 100'000'000;
  // Of one task or process: looking at each takes time.
  static constexpr size_t kMostThreads = 4096;

  struct KnownTask {
    SlurmGroups groups;
    bool prepared = false;  // has groups of ours
    int tries = 0;          // to fill its home, which is not done
    int pause = 0;  // calls of refresh() until the next try; less: since
    int next_pause = 1;
    Error failure;  // of the last try

    bool has_groups() const { return prepared || tries > 0; }
  };
  struct Limit {
    uint64_t wanted_bytes_per_s = 0;
    uint64_t written_bytes_per_s = 0;  // the site's own, where that is lower
  };
  struct KnownJob {
    std::string path;
    std::map<std::string, KnownTask> tasks;  // by path
    CpuSet lent;
    std::map<std::string, Limit> limits;  // by device
    bool is_over = false;  // remove_job() was called, and could not do all

    // The groups that hold prepared tasks, each once.
    std::set<std::string> levels() const;
  };

  // Steps that had groups of ours: were Slurm to meet one of these in a step
  // that ends, it would leave the step's own for ever. Marked .step for a later
  // run; the mark goes with the directory.
  struct LeftStep {
    int looks = 0;  // calls of refresh() since it had a process
    int tries = 0;
    std::optional<WriteWatch> begins;  // written to by a step that begins
  };

  std::string home_dir(std::string_view task) const;
  std::string loader_dir(std::string_view task) const;
  // The task's group where path is a group of ours in it, else path itself.
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
  // The CPUs that Slurm gave the group, whatever we have made of them; empty
  // where it has none of its own.
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
  bool has_left_home(const std::string& task) const;  // some of it
  void forget_ended_tasks(KnownJob& job);

  // v2_left.cpp
  void find_left_steps();
  void remove_what_slurm_left();
  void look_at_left_step(const std::string& path, LeftStep& step);
  void remove_step(const std::string& step);

  // v2_slurm.cpp: all of Slurm's scopes and jobs now, as paths.
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
