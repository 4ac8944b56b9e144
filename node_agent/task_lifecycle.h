// Starts and ends of tasks and jobs, and what outlives a restart of penstockd.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "node_agent/enforcer.h"
#include "node_agent/launch_doctor.h"
#include "node_agent/loader_separation.h"
#include "node_agent/node.h"
#include "node_agent/node_reporter.h"
#include "node_agent/pool_devices.h"
#include "node_agent/process_watch.h"
#include "node_agent/profile_loader.h"
#include "node_agent/rebalancer.h"
#include "node_agent/sampler.h"

namespace penstock {

// The parts that a task's start and end concern.
struct TaskParts {
  const Sampler& sampler;
  const LaunchDoctor& launch_doctor;
  Enforcer& enforcer;
  const NodeReporter& reporter;
  const PoolDevices& pools;
  ProfileLoader& profiles;
  const LoaderSeparation& separation;
  Rebalancer& rebalancer;
  ProcessWatch& processes;
};

class TaskLifecycle {
 public:
  TaskLifecycle(Node& node, TaskParts parts) : node_(node), parts_(parts) {}

  // Brings home the threads that an earlier penstockd left away, and takes over
  // its running tasks.
  void adopt(const std::vector<SavedTask>& saved);

  // Sends a guest's new task away; of another job, it does nothing.
  void welcome(Job& job, Task& task);

  // Takes note of a task that was announced. begin_started() sets up the tasks
  // of one turn of the event loop together; call it at the turn's end, before
  // the plan.
  void start_task(const Job& job, const Task& task);
  void begin_started();
  // The plan without the task is made at the end of the turn.
  // exited_ns: CLOCK_MONOTONIC. No effect if there is no such task.
  void end_task(JobId job_id, pid_t pid, uint64_t exited_ns);
  // Ends all tasks of the job and removes its record.
  void finish_job(JobId job_id);

  // Sets managed jobs up again, when no loans and no groups of theirs exist.
  void set_up_again(Job& job);
  void set_up_all_again();
  // The same after the guardian brought all threads home.
  void recover();

  // Removes groups of ended jobs that were busy, and forgets old jobs.
  void tidy(uint64_t now_ns);

 private:
  void begin_tasks(Job& job, const std::set<pid_t>& pids);
  void take_in(Job& job, Task& task);
  void set_up(Job& job, Task& task);
  void begin_managed(Job& job, Task& task);
  void introduce(Job& job, const Task& task);
  bool changes_plan(const Job& job, const Task& task) const;
  void refuse(Job& job);
  void on_task_gone(JobId job_id, pid_t pid);
  void forget_job(JobId job);

  Node& node_;
  TaskParts parts_;
  std::map<JobId, std::set<pid_t>> started_;  // in this turn
  bool leftovers_ = false;    // busy groups of ended jobs, to be swept later
  bool has_refused_ = false;  // a job; the log has the reason
};

}  // namespace penstock
