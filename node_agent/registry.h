// The jobs and tasks on this node, and the processes that belong to them.
#pragma once

#include <map>
#include <set>
#include <unordered_map>

#include "cgroup/proc_reader.h"
#include "node_agent/job.h"

namespace penstock {

class Registry {
 public:
  Registry(const ProcReader& proc, const Backend& backend)
      : proc_(proc), backend_(backend) {}

  // Verifies the task that Slurm announced against /proc, and records it. The
  // first task of a job creates the job's record.
  //   home  home of the task's first process
  // Errors: kNotFound          the process has ended
  //         kPermissionDenied  the job belongs to another user
  //         kLimit             kMaxTasks are recorded
  [[nodiscard]] Result<Task*> add(const penstock_task_start& start,
                                  const Home& home);

  // Forgets a task; its Job record stays until erase_job().
  void remove_task(JobId job, pid_t pid);
  // The job must have no tasks.
  void erase_job(JobId job) { jobs_.erase(job); }

  std::map<JobId, Job>& jobs() { return jobs_; }
  const std::map<JobId, Job>& jobs() const { return jobs_; }
  Job* find_job(JobId id);

  struct Owner {
    Job* job = nullptr;
    Task* task = nullptr;
  };
  // A recorded task. Null: there is none.
  Owner find_task(JobId job, pid_t pid) const { return owner_at({job, pid}); }
  // The task of a process, according to the kernel: its nearest ancestor that
  // is a task's first process, else a task in the same Slurm group. The process
  // must belong to the job's user. Errors: kNotFound, or those of /proc.
  [[nodiscard]] Result<Owner> owner_of(pid_t pid) const;
  // The same from the last scans, without system calls and without a search,
  // because every process on the node causes calls. Null: unknown.
  Owner known_owner(pid_t pid) const;
  void note_process(pid_t pid, Owner owner);
  // After a scan has changed the task's processes. before: these until then.
  void note_scan(Owner owner, const std::set<pid_t>& before);

  static constexpr size_t kMaxTasks = 8192;

 private:
  struct Key {
    JobId job = 0;
    pid_t task = 0;
    bool operator==(const Key&) const = default;
  };
  Owner owner_at(const Key& key) const;  // null: no such task
  static Key key_of(const Owner& owner) {
    return {owner.job->id, owner.task->id.tid};
  }
  size_t task_count() const;
  void forget_processes(const Key& key, const std::set<pid_t>& pids);

  const ProcReader& proc_;
  const Backend& backend_;
  mutable std::map<JobId, Job> jobs_;
  std::unordered_map<pid_t, Key> key_of_process_;  // of Task::processes
};

}  // namespace penstock
