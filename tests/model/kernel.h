// The simulated node's kernel: threads, control groups v1 in memory with the
// kernel's rules for moves and masks, and /proc in a temporary directory. Any
// call may fail, and a thread may end in the middle of one.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cgroup/cgroup_fs.h"
#include "cgroup/mounts.h"
#include "cgroup/proc_reader.h"
#include "cgroup/thread_sched.h"
#include "tests/model/proc_files.h"
#include "tests/model/trial.h"

namespace penstock::model {

struct Thread {
  pid_t pid = 0;
  pid_t ppid = 0;  // of the process
  uid_t uid = 0;
  uint64_t starttime = 0;
  std::string comm;
  std::map<std::string, std::string> groups;  // hierarchy -> path
  std::optional<CpuSet> wanted;               // by sched_setaffinity
  std::optional<CpuSet> chosen;  // wanted by its user or Slurm, while at home
  bool is_unsure = false;        // penstockd cannot know what was chosen
  bool is_displaced = false;     // a call failed that moves it or sets its mask
  CpuSet affinity;
  SchedPolicy policy;
  char state = 'S';
  int cpu = 0;  // where it ran last
  uint64_t run_ns = 0;
  uint64_t wait_ns = 0;
};

struct Group {
  std::set<pid_t> tids;
  std::map<std::string, std::string> files;
};

class Kernel {
 public:
  static constexpr int kCpus = 8;
  static CpuSet all_cpus();
  // cpu_with_cpuacct: both in one hierarchy, as systemd mounts them.
  Kernel(Trial& trial, bool cpu_with_cpuacct);

  const CgroupFs& fs() const { return fs_; }
  const ThreadSched& sched() const { return sched_; }
  const ProcReader& proc() const { return proc_; }
  const V1Mounts& mounts() const { return mounts_; }
  const std::map<pid_t, Thread>& threads() const { return threads_; }
  // By hierarchy and path: "cpuset/slurm/uid_1000/job_7".
  const std::map<std::string, Group>& groups() const { return groups_; }
  std::string group_of(const Thread& thread, const char* controller) const;
  CpuSet cpus_of(const std::string& cpuset_group) const;

  // Chances of a failure and of a sudden death per call; 0: none.
  void set_faults(uint64_t one_in) { faults_one_in_ = one_in; }
  bool has_faults() const { return faults_one_in_ != 0; }

  // Slurm's groups, in cpuset, cpuacct and freezer.
  void make_slurm_group(const std::string& path, const CpuSet& cpus);
  bool remove_slurm_group(const std::string& path);  // false: it is busy
  void freeze(const std::string& path, bool is_frozen);

  // A process of its own in this group, or a child or a thread that inherits.
  pid_t start_process(uid_t uid, const std::string& slurm_group);
  pid_t fork(pid_t parent);
  pid_t start_thread(pid_t pid);
  void end_thread(pid_t tid);   // of a main thread: the process
  void end_process(pid_t pid);  // children get init as their parent
  bool is_process(pid_t pid) const;
  std::vector<pid_t> threads_of(pid_t pid) const;
  // A readable descriptor once the process has ended; -1: no such process.
  int open_pidfd(pid_t pid);

  void rename(pid_t tid, const std::string& comm);
  void set_state(pid_t tid, char state);
  void run(pid_t tid, uint64_t run_ns, uint64_t wait_ns);
  // As sched_setaffinity(2) of the user, or of Slurm for a new task.
  void choose_mask(pid_t tid, const CpuSet& cpus);
  // penstockd forgets what it knows of threads.
  void note_forgotten();

 private:
  class Fs final : public CgroupFs {
   public:
    Fs(UniqueFd root, Kernel* kernel)
        : CgroupFs(std::move(root)), kernel_(kernel) {}
    Status make_dir(std::string_view path) const override;
    Status remove_dir(std::string_view path) const override;
    Result<std::string> read_file(std::string_view path) const override;
    Status write_file(std::string_view path,
                      std::string_view text) const override;
    Result<std::vector<std::string>> list_dirs(
        std::string_view path) const override;

   private:
    Kernel* kernel_;
  };
  class Sched final : public ThreadSched {
   public:
    explicit Sched(Kernel* kernel) : kernel_(kernel) {}
    Result<CpuSet> affinity(pid_t tid) const override;
    Status set_affinity(pid_t tid, const CpuSet& cpus) const override;
    Status set_widest_affinity(pid_t tid) const override;
    Result<SchedPolicy> policy(pid_t tid) const override;
    Status set_policy(pid_t tid, const SchedPolicy& policy) const override;

   private:
    Kernel* kernel_;
  };

  Status fault(const char* call, std::string_view where);
  void note_displaced(pid_t tid_of_call);
  Result<Thread*> find(pid_t tid);
  void make_group(const std::string& path);
  Status move(const std::string& text, const std::string& group, bool whole);
  void place(pid_t tid, const std::string& hierarchy, const std::string& path);
  Status set_mask(pid_t tid, const CpuSet& cpus);
  Status set_cpus(const std::string& group, std::string_view text);
  void narrow(Thread& thread);  // to its cpuset
  pid_t free_number();
  pid_t add(Thread thread, pid_t tid);
  void write_cgroup_file(pid_t tid);

  Trial& trial_;
  ProcFiles files_;
  V1Mounts mounts_;
  std::vector<std::string> hierarchies_;
  std::map<std::string, Group> groups_;
  std::map<pid_t, Thread> threads_;
  std::multimap<pid_t, UniqueFd> pidfds_;
  uint64_t starttime_ = 1000;
  uint64_t faults_one_in_ = 0;
  Fs fs_;
  Sched sched_;
  ProcReader proc_;
};

}  // namespace penstock::model
