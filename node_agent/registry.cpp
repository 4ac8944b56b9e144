#include "node_agent/registry.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "common/clock.h"
#include "common/options.h"

namespace penstock {
namespace {

UniqueFd open_pidfd(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

void describe_job(Job& job, const penstock_task_start& start) {
  job.id = start.job_id;
  job.uid = start.uid;
  job.options = start.options;
  job.name = std::string(start.job_name,
                         ::strnlen(start.job_name, sizeof start.job_name));
  job.started_unix_s = unix_s();
  job.started_ns = monotonic_ns();
  job.sampled_ns = job.last.time_ns = job.started_ns;
}

}  // namespace

size_t Registry::task_count() const {
  size_t count = 0;
  for (const auto& [id, job] : jobs_) count += job.tasks.size();
  return count;
}

Result<Task*> Registry::add(const penstock_task_start& start,
                            const Home& home) {
  if (task_count() >= kMaxTasks) {
    return Error{Code::kLimit, 0, "more than 8192 tasks on one node"};
  }
  Result<TaskId> id = proc_.identity(start.pid);
  if (!id) return std::move(id).error();
  Result<ProcCgroups> groups = proc_.cgroups(start.pid);
  if (!groups) return std::move(groups).error();
  const auto existing = jobs_.find(start.job_id);
  if (existing != jobs_.end() && existing->second.uid != start.uid) {
    return Error{Code::kPermissionDenied, 0,
                 "job " + std::to_string(start.job_id) + " is of user " +
                     std::to_string(existing->second.uid) + ", not " +
                     std::to_string(start.uid)};
  }
  UniqueFd pidfd = open_pidfd(start.pid);
  if (!pidfd) return system_error(errno, "pidfd_open");
  Status same = proc_.verify(*id);  // the pidfd refers to the verified process
  if (!same) return std::move(same).error();

  Job& job = jobs_[start.job_id];
  if (job.tasks.empty() && job.id == 0) describe_job(job, start);
  remove_task(start.job_id, start.pid);  // announced twice, or a reused pid
  Task& task = job.tasks[start.pid];
  task.start = start;
  task.id = *id;
  task.pidfd = std::move(pidfd);
  task.home = home;
  const JobGroups of_job = backend_.job_groups_of(*groups);
  task.home.job_path = of_job.tracked;  // older state files lack it
  task.accounted_path = of_job.accounted;
  task.memory_path = of_job.memory;
  note_process(start.pid, {&job, &task});
  if (asks_for_management(start.options)) {
    job.managed = true;
    job.options = start.options;
  }
  return &task;
}

void Registry::remove_task(JobId job, pid_t pid) {
  const Owner owner = owner_at({job, pid});
  if (owner.task == nullptr) return;
  forget_processes({job, pid}, owner.task->processes);
  owner.job->tasks.erase(pid);
}

Job* Registry::find_job(JobId id) {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

Registry::Owner Registry::owner_at(const Key& key) const {
  const auto job = jobs_.find(key.job);
  if (job == jobs_.end()) return {};
  const auto task = job->second.tasks.find(key.task);
  if (task == job->second.tasks.end()) return {};
  return {&job->second, &task->second};
}

Registry::Owner Registry::known_owner(pid_t pid) const {
  const auto known = key_of_process_.find(pid);
  return known == key_of_process_.end() ? Owner{} : owner_at(known->second);
}

void Registry::note_process(pid_t pid, Owner owner) {
  owner.task->processes.insert(pid);
  key_of_process_[pid] = key_of(owner);
}

void Registry::note_scan(Owner owner, const std::set<pid_t>& before) {
  forget_processes(key_of(owner), before);
  for (pid_t pid : owner.task->processes) {
    key_of_process_[pid] = key_of(owner);
  }
}

// A process may be another task's by now.
void Registry::forget_processes(const Key& key, const std::set<pid_t>& pids) {
  for (pid_t pid : pids) {
    const auto known = key_of_process_.find(pid);
    if (known != key_of_process_.end() && known->second == key) {
      key_of_process_.erase(known);
    }
  }
}

Result<Registry::Owner> Registry::owner_of(pid_t pid) const {
  Result<ProcStatus> status = proc_.status(pid);
  if (!status) return std::move(status).error();
  Result<ProcCgroups> groups = proc_.cgroups(pid);
  if (!groups) return std::move(groups).error();
  const std::string job_path = backend_.job_groups_of(*groups).tracked;

  // The nearest ancestor that is a task's first process names the task.
  pid_t ancestor = pid;
  for (int depth = 0; depth < 64 && ancestor > 1; ++depth) {
    for (auto& [id, job] : jobs_) {
      if (job.uid != status->real_uid) continue;
      const auto task = job.tasks.find(ancestor);
      if (task != job.tasks.end()) return Owner{&job, &task->second};
    }
    Result<ProcStat> stat = proc_.stat(ancestor);
    if (!stat) break;
    ancestor = stat->ppid;
  }
  for (auto& [id, job] : jobs_) {
    if (job.uid != status->real_uid || job_path.empty()) continue;
    for (auto& [root, task] : job.tasks) {
      if (job_path == task.home.job_path) return Owner{&job, &task};
    }
  }
  return Error{Code::kNotFound, 0,
               "process " + std::to_string(pid) +
                   " is in no task that was announced here"};
}

}  // namespace penstock
