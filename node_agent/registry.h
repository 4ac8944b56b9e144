// The jobs and tasks on this node, and who belongs to them.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "cgroup/proc_reader.h"
#include "node_agent/job.h"

namespace penstock {

class Registry {
 public:
  Registry(const ProcReader& proc, const Backend& backend)
      : proc_(proc), backend_(backend) {}

  // Checks the task that Slurm announced against /proc and records it. The
  // job's record is made with its first task.
  //   home  where the task's first process is
  // Errors: kNotFound          the process is gone
  //         kPermissionDenied  the job is known as another user's
  //         kLimit             kMaxTasks
  [[nodiscard]] Result<Task*> add(const penstock_task_start& start,
                                  const Home& home);

  // Forgets a task; its Job record stays until erase_job().
  void remove_task(JobId job, pid_t pid);
  void erase_job(JobId job) { jobs_.erase(job); }

  std::map<JobId, Job>& jobs() { return jobs_; }
  const std::map<JobId, Job>& jobs() const { return jobs_; }
  Job* find_job(JobId id);

  struct Owner {
    Job* job = nullptr;
    Task* task = nullptr;
  };
  // The task that pid is in, by the kernel's word: a process of the task's
  // tree or of its job's control group, and of the job's user.
  [[nodiscard]] Result<Owner> owner_of(pid_t pid) const;
  // The same from what the last scans saw; no system call. Null: unknown.
  Owner known_owner(pid_t pid) const;
  void note_process(pid_t pid, Owner owner) {
    owner.task->processes.insert(pid);
  }

  static constexpr size_t kMaxTasks = 8192;

 private:
  size_t task_count() const;

  const ProcReader& proc_;
  const Backend& backend_;
  mutable std::map<JobId, Job> jobs_;
};

}  // namespace penstock
