// A machine in temporary directories with a unified hierarchy that behaves as
// the kernel's does where Penstock depends on it: controllers reach the
// children that they are enabled for, a group with processes enables none for
// its children unless they are threaded, a thread moves within its domain only,
// a group with threads or children cannot be removed, effective CPUs are
// limited by those of the parent, a cpuset with threads cannot be emptied, some
// moves take the lock of a process's memory (cgroup/attach_lock.h). It
// has /proc of its threads, and their affinity. Any operation can be made to
// fail.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "broker/rules.h"
#include "cgroup/cgroup_fs.h"
#include "cgroup/proc_reader.h"
#include "cgroup/thread_sched.h"
#include "tests/unit/cgroup/temp_dir.h"

namespace penstock {

class FakeUnified {
 public:
  FakeUnified();

  // Slurm's and the kernel's view.
  const CgroupFs& fs() const { return fs_; }
  // Penstock's: what penstock-broker refuses (broker/rules.h) is refused.
  const CgroupFs& brokered() const { return brokered_; }
  const ProcReader& proc() const { return proc_; }
  const ThreadSched& sched() const { return sched_; }
  const TempDir& tree() const { return tree_; }

  // The groups of a task as Slurm 24.11 makes them, with CPUs at the job and
  // at `user`; what exists is left. Returns the task's path.
  std::string make_task(const std::string& job, const std::string& step,
                        int task, const std::string& cpus);
  // Sets the scope of tasks that are made later: one name a level.
  void set_scope(std::vector<std::string> names) { scope_ = std::move(names); }
  // A thread (a process where tid == pid) in a group.
  void start(pid_t tid, pid_t pid, const std::string& group,
             const CpuSet& affinity);
  void end(pid_t tid);
  void set_state(pid_t tid, char state);  // of /proc/TID/stat
  void set_schedstat(pid_t tid, uint64_t run_ns, uint64_t wait_ns);
  // An exiting process frees its memory: the kernel counts but never moves it.
  void set_exiting(pid_t tid) { threads_.at(tid).is_exiting = true; }

  // Sets cgroup.events; a new group is populated.
  void set_populated(const std::string& group, bool is) {
    tree_.write(group.substr(1) + "/cgroup.events",
                is ? "populated 1\n" : "populated 0\n");
  }

  void set_frozen(const std::string& group, bool is) {
    tree_.write(group.substr(1) + "/cgroup.events",
                is ? "populated 1\nfrozen 1\n" : "populated 1\nfrozen 0\n");
  }

  std::string group_of(pid_t tid) const { return threads_.at(tid).group; }
  CpuSet affinity_of(pid_t tid) const { return threads_.at(tid).affinity; }
  CpuSet effective_cpus(const std::string& group) const;
  std::string read(const std::string& path) const;
  bool has_mark(const std::string& group) const;  // any
  // Moves, by name, that took the lock of a process's memory, as from Linux 6.2
  // on.
  const std::vector<std::string>& locking_moves() const { return locking_; }

  // As FakeMachine's; operations: "read", "write", "mkdir", "rmdir", "mark",
  // "access", "affinity".
  void fail(const std::string& operation, const std::string& where,
            int error_number);
  void heal() { failures_.clear(); }

  // As kernels before 6.2: a moved thread gets all CPUs of its new group.
  void forget_masks() { forgets_masks_ = true; }

  // Called before each write with the file's path: for races.
  std::function<void(const std::string& path)> before_write;

 private:
  struct Thread {
    pid_t pid = 0;
    uint64_t starttime = 1000;
    std::string group;
    CpuSet affinity;
    char state = 'S';
    bool is_exiting = false;
  };
  class Fs final : public CgroupFs {
   public:
    Fs(UniqueFd root, FakeUnified* machine, bool is_brokered)
        : CgroupFs(std::move(root)),
          machine_(machine),
          is_brokered_(is_brokered) {}
    Status make_dir(std::string_view path) const override;
    Status remove_dir(std::string_view path) const override;
    Status check_writable(std::string_view path) const override;
    Result<std::string> read_file(std::string_view path) const override;
    Status write_file(std::string_view path,
                      std::string_view text) const override;
    Result<std::vector<std::string>> list_dirs(
        std::string_view path) const override;
    Result<std::string> read_mark(std::string_view path,
                                  const std::string& name) const override;
    Status write_mark(std::string_view path, const std::string& name,
                      const std::string& text) const override;
    Status remove_mark(std::string_view path,
                       const std::string& name) const override;

   private:
    Status admits(const Status& allowed) const {
      return is_brokered_ ? allowed : Status(Done{});
    }

    FakeUnified* machine_;
    bool is_brokered_;
  };
  class Sched final : public ThreadSched {
   public:
    explicit Sched(FakeUnified* machine) : machine_(machine) {}
    Result<CpuSet> affinity(pid_t tid) const override;
    Status set_affinity(pid_t tid, const CpuSet& cpus) const override;
    Status set_widest_affinity(pid_t tid) const override;
    Result<SchedPolicy> policy(pid_t) const override { return SchedPolicy{}; }

   private:
    FakeUnified* machine_;
  };

  Status failure(const std::string& operation, std::string_view where) const;
  Status may_move(std::string_view file, pid_t tid) const;
  void make_files(const std::string& group);
  void add_controller(const std::string& group, const std::string& name);
  void remove_controller(const std::string& group, const std::string& name);
  Status enable(const std::string& group, std::string_view words);
  Status move(pid_t tid, const std::string& group, bool whole_process);
  std::string type_of(const std::string& group) const;
  std::string domain_of(const std::string& group) const;
  bool is_busy(const std::string& group) const;
  bool has_threads(const std::string& group) const;  // it, or one below
  void write_proc(pid_t tid);
  std::string cpuset_of(const std::string& group) const;
  void note_attach(pid_t tid, const std::string& from, const CpuSet& cpus,
                   const std::string& to);

  const BrokerRules rules_{"penstock", V1Mounts{}};
  TempDir tree_;
  TempDir proc_dir_;
  std::vector<std::string> scope_{"system.slice", "n1_slurmstepd.scope"};
  std::map<pid_t, Thread> threads_;
  std::map<std::string, std::map<std::string, std::string>> marks_;
  struct Failure {
    std::string operation, where;
    int error_number;
  };
  std::vector<Failure> failures_;
  std::vector<std::string> locking_;
  bool forgets_masks_ = false;
  Fs fs_, brokered_;
  ProcReader proc_;
  Sched sched_;
};

}  // namespace penstock
