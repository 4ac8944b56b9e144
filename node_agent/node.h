// What the agent's parts share: the machine, the configuration, and the records
// of its jobs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "broker/client.h"
#include "cgroup/backend.h"
#include "common/config.h"
#include "common/event_loop.h"
#include "node_agent/cpu_idle.h"
#include "node_agent/plan/job_origins.h"
#include "node_agent/plan/latency.h"
#include "node_agent/registry.h"
#include "node_agent/state_file.h"
#include "node_agent/topology.h"

namespace penstock {

// The agent's dependencies. main() creates them; they outlive the agent.
struct Machine {
  EventLoop& loop;
  const BrokerClient& broker;
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

// Makes and applies a new plan; for parts whose news change it.
using Replan = std::function<void(GrantCause)>;

struct Node {
  Node(Machine machine_of_node, Config config_of_node);

  Machine machine;
  Config config;
  Registry registry;
  JobOrigins origins;
  // Set while Penstock is off: jobs are watched, and have only what Slurm gave
  // them.
  std::optional<double> off_since_unix_s;
  // The CPUs kept for the system; an error: unknown, with the reason.
  Result<CpuSet> system_cpus =
      Error{Code::kUnavailable, 0, "Slurm has not been asked yet"};
  ProcessEvents process_events = ProcessEvents::kPolling;
  LatencyRecord rebalance_latency;
  LatencyRecord grant_latency;  // from a controller's decision until enforced
  LatencyRecord launch_latency;

  bool is_off() const { return off_since_unix_s.has_value(); }
  // False: the job has what Slurm gave it, and nothing else. While Penstock is
  // off, and for jobs that are only observed.
  bool acts_for(const Job& job) const { return !is_off() && !job.observed; }
  // Decides by the configuration, and by what is known of the job now, whether
  // it is only observed and whether it is a guest. Returns whether that has
  // changed.
  bool settle(Job& job) const;
  bool manages(const penstock_wire_options& options) const;
  // The job's index into Config::pools; -1: none.
  int pool_of(const Job& job) const;
  // Lendable CPUs that no job holds, whether announced or not. Without
  // ManagedCPUs: none while system_cpus is unknown.
  CpuSet idle_cpus() const;
  // Why there are none despite LendIdle=yes; "": they may be lent.
  std::string why_idle_not_lent() const;
  std::vector<SavedTask> saved_tasks() const;
  // Saves the tasks for a restart.
  void save_state();
  // Asks for it at the end of the event loop's turn, once for all changes.
  void save_soon() { is_changed_ = true; }
  // Call at the end of each turn. With thousands of tasks, a save takes
  // milliseconds. Saves then take a tenth of the time, and tasks that start
  // together are saved within a second.
  void save_if_changed();
  // Homes of threads that are in no unit. Reads the tasks at its first call,
  // because most jobs end without such a thread.
  FindHome finder() const;
  // Notes it in the job's report if Penstock is off.
  void note_if_off(Job& job) const;

 private:
  bool observes(JobId job) const;
  bool takes_as_guest(const Job& job) const;

  bool is_changed_ = false;    // tasks came or went since the last save
  uint64_t next_save_ns_ = 0;  // CLOCK_MONOTONIC
};

}  // namespace penstock
