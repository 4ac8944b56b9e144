// A machine in temporary directories: v1 hierarchies that behave as the
// kernel's do where Penstock depends on it (groups come with control files, a
// thread is in one group of each hierarchy, a cpuset without CPUs takes no
// thread, a group with threads cannot be removed), /proc of its threads, and
// their affinity. Any operation can be made to fail.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cgroup/cgroup_fs.h"
#include "cgroup/mounts.h"
#include "cgroup/proc_reader.h"
#include "cgroup/thread_sched.h"
#include "tests/unit/cgroup/temp_dir.h"

namespace penstock {

class FakeMachine {
 public:
  // cpu_with_cpuacct: both in one hierarchy, as systemd mounts them.
  explicit FakeMachine(bool cpu_with_cpuacct = false);

  const CgroupFs& fs() const { return fs_; }
  const ProcReader& proc() const { return proc_; }
  const ThreadSched& sched() const { return sched_; }
  const V1Mounts& mounts() const { return mounts_; }

  // A group in every hierarchy but blkio and cpu, as Slurm makes it.
  void make_slurm_group(const std::string& group, const std::string& cpus);
  // A thread (a process where tid == pid) in the root groups, on CPUs 0-3.
  void start(pid_t tid, pid_t pid, pid_t ppid, uint64_t starttime = 1000);
  void end(pid_t tid);
  // Puts a thread into a group directly, as another program would.
  void place(pid_t tid, const std::string& controller,
             const std::string& group);
  std::string group_of(pid_t tid, const std::string& controller) const;

  // Every operation ("read", "write", "mkdir", "rmdir", "list", "affinity",
  // "policy") on a path (or thread number) that contains `where` fails with
  // error_number from now on; 0 means a short read or write.
  void fail(const std::string& operation, const std::string& where,
            int error_number);
  void heal() { failures_.clear(); }

  struct Thread {
    pid_t pid = 0;
    pid_t ppid = 0;
    uint64_t starttime = 0;
    std::map<std::string, std::string> groups;  // mount -> group
    CpuSet affinity{{0, 1, 2, 3}};
    SchedPolicy policy;
  };
  std::map<pid_t, Thread>& threads() { return threads_; }
  // "path=text" of every successful write.
  const std::vector<std::string>& writes() const { return writes_; }
  const TempDir& tree() const { return tree_; }

 private:
  class Fs final : public CgroupFs {
   public:
    Fs(UniqueFd root, FakeMachine* machine)
        : CgroupFs(std::move(root)), machine_(machine) {}
    Status make_dir(std::string_view path) const override;
    Status remove_dir(std::string_view path) const override;
    Result<std::string> read_file(std::string_view path) const override;
    Status write_file(std::string_view path,
                      std::string_view text) const override;
    Result<std::vector<std::string>> list_dirs(
        std::string_view path) const override;

   private:
    FakeMachine* machine_;
  };
  class Sched final : public ThreadSched {
   public:
    explicit Sched(FakeMachine* machine) : machine_(machine) {}
    Result<CpuSet> affinity(pid_t tid) const override;
    Status set_affinity(pid_t tid, const CpuSet& cpus) const override;
    Status set_widest_affinity(pid_t tid) const override;
    Result<SchedPolicy> policy(pid_t tid) const override;
    Status set_policy(pid_t tid, const SchedPolicy& policy) const override;

   private:
    FakeMachine* machine_;
  };

  Status failure(const std::string& operation, std::string_view where) const;
  Result<Thread*> find(pid_t tid);
  void make_control_files(const std::string& path);
  Status move(pid_t tid, const std::string& path);
  void write_proc(pid_t tid);
  CpuSet cpus_of(const std::string& cpuset_group) const;

  TempDir tree_;
  TempDir proc_dir_;
  std::vector<std::string> hierarchies_;
  V1Mounts mounts_;
  std::map<pid_t, Thread> threads_;
  struct Failure {
    std::string operation, where;
    int error_number;
  };
  std::vector<Failure> failures_;
  std::vector<std::string> writes_;
  Fs fs_;
  ProcReader proc_;
  Sched sched_;
};

}  // namespace penstock
