// penstockd's core: connects the socket, /proc, the planner and the kernel.
// Single-threaded; all waiting happens in the event loop.
//
//   agent.cpp            life cycle, timers, configuration
//   agent_messages.cpp   requests from the plugin, jobs and tools
//   agent_processes.cpp  process events, scanning, adoption, task ends
//   agent_rebalance.cpp  planning, and the record of grant changes
//   agent_cluster.cpp    the link to the cluster's controllers
//   agent_limit.cpp      CPU and bandwidth limits of jobs under analysis
//   agent_gpus.cpp       CPUs near a job's GPUs, and GPU utilization
//   agent_switch.cpp     `penstock off` and `penstock on`
//   agent_metrics.cpp    the metrics file for node_exporter
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cgroup/proc_events.h"
#include "common/config.h"
#include "common/event_loop.h"
#include "link/link.h"
#include "node_agent/bounded_child.h"
#include "node_agent/cache_sweep.h"
#include "node_agent/cpu_idle.h"
#include "node_agent/enforcer.h"
#include "node_agent/home_split.h"
#include "node_agent/metrics_file.h"
#include "node_agent/path_devices.h"
#include "node_agent/plan/cluster_grant.h"
#include "node_agent/plan/cluster_report.h"
#include "node_agent/plan/gpus.h"
#include "node_agent/plan/job_accounts.h"
#include "node_agent/plan/scan_queue.h"
#include "node_agent/registry.h"
#include "node_agent/sampler.h"
#include "node_agent/scanner.h"
#include "node_agent/server.h"
#include "node_agent/state_file.h"
#include "node_agent/topology.h"
#include "report/metrics.h"
#include "report/node_status.h"

namespace penstock {

// The agent's dependencies. main() creates them; they outlive the agent.
struct Machine {
  EventLoop& loop;
  const ProcReader& proc;
  const ThreadSched& sched;
  Backend& backend;
  Topology topology;
  CpuIdle cpu_idle;
  int state_dir_fd = -1;
  std::string node;
  // The guardian's heartbeat, due at least once a second, and its count of
  // clean-ups.
  std::function<void(bool anything_away)> heartbeat;
  std::function<uint32_t()> clean_ups;
};

class Agent {
 public:
  Agent(Machine machine, Config config);

  // Starts timers, opens the socket, sweeps leftovers, adopts running tasks,
  // and makes the first plan.
  Status start();

  // Brings all threads home, removes the groups and the socket. The tasks stay
  // in the state file, so that the next penstockd adopts them.
  void stop();

  // Applies a new configuration. SocketPath, StateDir, CgroupRoot, CgroupName,
  // AwayYields, Controller, ControllerTimeout and MungeSocket keep their old
  // values until a restart; a change to one of them is logged.
  void reload(Config config);

 private:
  // agent_messages.cpp
  Answer handle(const Message& message, const Peer& peer);
  Answer on_task_start(const penstock_task_start& start);
  void on_task_exit(const penstock_task_exit& exit);
  void on_step_end(const penstock_step_end& end);
  void on_job_start(const penstock_job_start& start);
  void on_job_end(JobId job);
  Answer on_hello(const penstock_hello& hello, const Peer& peer);
  Result<Rank*> rank_for(Task& task, pid_t pid) const;
  Answer on_thread(const penstock_thread& thread, const Peer& peer);
  Answer on_status(const penstock_status& status, const Peer& peer);
  Answer on_switch(const penstock_switch& wanted);
  void load_profile(JobId job);
  void take_profile(Job& job, Profile profile);
  void use_profile(JobId job, const std::string& text,
                   const std::string& file_name);

  // agent_processes.cpp
  Status subscribe_events();
  Status watch_processes();
  void on_process_events();
  void mark_for_scan(JobId job);
  void mark_for_scan(JobId job, pid_t task);
  void arm_scan_timer();
  void scan_marked();
  void scan_task(Job& job, Task& task);
  void account_ended(Registry::Owner owner, pid_t pid);
  void bring_strays_home(Job& job);
  void decide_apart(Job& job, Task& task);
  void keep_apart(Task& task);
  void put_together(Task& task);
  std::vector<SavedTask> saved_tasks() const;
  FindHome finder() const;  // homes of threads that are in no unit
  void attach_io(Job& job, Task& task);
  void introduce(Job& job, const Task& task);
  void begin_task(Job& job, Task& task);
  void on_task_gone(JobId job, pid_t pid);
  void end_task(JobId job, pid_t pid, uint64_t exited_ns);
  void finish_job(JobId job);
  void forget_job(JobId job);
  void tidy(uint64_t now_ns);
  void adopt(const std::vector<SavedTask>& saved);
  void save_state();
  pid_t host_tid(pid_t pid, pid_t tid_in_namespace) const;
  pid_t host_pid(const Task& task, pid_t sender_pid,
                 pid_t pid_in_namespace) const;

  // agent_rebalance.cpp
  PlanInput plan_input() const;
  CpuSet idle_cpus() const;
  PlanJob plan_job(const Job& job, const std::set<int>& shared) const;
  void rebalance(GrantCause cause, uint64_t since_ns = 0);
  std::set<uint64_t> barred_lenders() const;
  bool has_changed_enough() const;
  bool has_changed_enough(const Job& job) const;
  void watch_lenders(uint64_t now_ns);
  void fill_in_rates();
  bool may_lend(uint64_t lender, Job& borrower);
  void drop_loans_that_would_not_yield(Plan& plan,
                                       const std::vector<PlanJob>& jobs);
  int pool_of(const Job& job) const;

  // agent_cluster.cpp
  Status start_link();
  std::vector<std::string> shared_pools() const;
  void tell_controllers(const AgentMessage& message);
  void say_hello();
  void say_heartbeat();
  JobLabel label_of(const Job& job) const;
  void say_changes(const PlanInput& input);
  void say_totals();
  void on_link();
  void on_grant(const NodeGrant& grant);
  void take_earlier(JobId id, const EarlierFigures& earlier);
  void on_link_timer();

  // agent_limit.cpp
  Answer on_limit(const penstock_limit& asked, const Peer& peer);
  bool plan_for_limits();  // false: postponed to the next sample
  Status hold(Job& job);
  bool clear_cpu_limit(Job& job);
  void end_limit(Job& job);
  void end_lapsed_limits(uint64_t now_ns);

  // agent_gpus.cpp
  void look_for_gpus(GrantCause cause);
  void take_gpus(const Result<std::vector<Gpu>>& gpus, GrantCause cause);
  CpuSet cpus_near_gpus_of(const Job& job) const;
  bool wants_gpu_use(const Job& job, uint64_t now_ns) const;
  void look_at_gpu_use(uint64_t now_ns);
  void begin_to_watch_gpus();

  // agent_switch.cpp
  bool is_off() const { return off_since_unix_s_.has_value(); }
  void look_for_off_mark();
  Result<NodeSwitch> switch_off();
  Result<NodeSwitch> switch_on();
  uint32_t release_all();
  void note_if_off(Job& job) const;
  void take_up_again();

  // agent_metrics.cpp
  void sweep_caches();
  void write_metrics();
  NodeMetrics metrics();

  // agent.cpp
  Status start_timers();
  void on_sample_timer();
  void refresh_groups();
  void on_beat_timer();
  void beat();
  void on_tick_timer();
  void adjust_tick();
  void look_for_clean_up();
  void recover();
  void look_up_paths();
  void take_paths(const std::vector<std::string>& paths,
                  const std::vector<PathDevice>& found);
  void name_pool_devices();
  NodeStatus node_status(const Peer& peer) const;
  JobReport report_of(const Job& job, bool running) const;
  void write_report(const Job& job);
  bool manages(const penstock_wire_options& options) const;

  Machine machine_;
  Config config_;
  Registry registry_;
  JobAccounts accounts_;
  Scanner scanner_;
  Sampler sampler_;
  Enforcer enforcer_;
  HomeSplitter splitter_;
  std::map<int, CpuSet> near_gpu_;  // by Slurm's GPU number
  bool has_gpus_ = false;           // NVML reported at least one GPU
  bool watches_gpus_ = false;       // a child process reports GPU use
  bool wants_gpu_use_ = false;      // a job needs the GPUs' use for its report
  GpuUse gpu_use_;
  uint64_t gpu_use_ns_ = 0;  // time of the last report
  CacheSweep cache_sweep_;
  MetricsFile metrics_file_;  // outlives children_, whose callbacks use it
  BoundedChildren children_;
  std::unique_ptr<Server> server_;
  std::optional<ProcEvents> events_;
  std::vector<std::string> pool_devices_;  // by config_.pools; "": unknown
  std::map<std::string, std::string> device_of_path_;

  // Both unset without Controller=.
  std::unique_ptr<Link> link_;
  std::optional<ClusterGrant> cluster_;
  ClusterReport cluster_report_;
  double said_heartbeat_s_ = 0;
  double said_totals_s_ = 0;

  // Set while Penstock is off: jobs are watched, and have only what Slurm gave
  // them.
  std::optional<double> off_since_unix_s_;

  // Inputs of the last plan, and the loans that it made.
  std::map<JobId, PlanJob> planned_;
  CpuSet planned_idle_;
  std::set<uint64_t> planned_barred_;
  std::set<JobId> lenders_;
  std::map<int, uint64_t> lender_of_cpu_;
  ScanQueue scan_queue_;
  std::optional<uint64_t> scan_timer_ns_;  // 0: disarmed; nullopt: to be set
  LatencyRecord rebalance_latency_;
  LatencyRecord grant_latency_;  // from a controller's decision until enforced
  LatencyRecord launch_latency_;
  uint64_t started_ns_ = 0;
  uint64_t sampled_ns_ = 0;
  uint64_t ticked_ns_ = 0;
  uint32_t clean_ups_ = 0;  // the guardian's clean-ups handled so far
  uint64_t planned_ns_ = 0;
  uint64_t scanned_all_ns_ = 0;
  int sample_timer_ = -1;
  int tick_timer_ = -1;
  int scan_timer_ = -1;
  bool ticking_ = false;
  bool limits_changed_ = false;  // the next sample plans for the new limits
  bool leftovers_ = false;       // busy groups of ended jobs, to be swept later
  uint32_t not_home_ = 0;        // jobs not yet released by `penstock off`
  bool refresh_failed_ = false;  // the failure has been logged already
};

}  // namespace penstock
