// penstockd's core: owns the parts that watch jobs, plan and enforce, and
// calls them at their times. Single-threaded; all waiting happens in the event
// loop.
#pragma once

#include <memory>
#include <vector>

#include "node_agent/bounded_child.h"
#include "node_agent/control_loop.h"
#include "node_agent/controller_connection.h"
#include "node_agent/enforcer.h"
#include "node_agent/gpu_watch.h"
#include "node_agent/launch_doctor.h"
#include "node_agent/loader_separation.h"
#include "node_agent/measured_limits.h"
#include "node_agent/metrics_file.h"
#include "node_agent/node.h"
#include "node_agent/node_reporter.h"
#include "node_agent/off_switch.h"
#include "node_agent/pool_devices.h"
#include "node_agent/process_watch.h"
#include "node_agent/profile_loader.h"
#include "node_agent/read_watch.h"
#include "node_agent/rebalancer.h"
#include "node_agent/report_queue.h"
#include "node_agent/requests.h"
#include "node_agent/sampler.h"
#include "node_agent/scanner.h"
#include "node_agent/server.h"
#include "node_agent/system_cpus.h"
#include "node_agent/task_lifecycle.h"

namespace penstock {

class Agent {
 public:
  Agent(Machine machine, Config config);
  ~Agent();

  // Starts timers, opens the socket, sweeps leftovers, adopts running tasks,
  // and makes the first plan.
  Status start();

  // Brings all threads home, removes the groups and the socket. The tasks stay
  // in the state file, so that the next penstockd adopts them.
  void stop();

  // Applies a new configuration. SocketPath, StateDir, CgroupRoot, CgroupName,
  // AgentUser, AwayYields, MoveProcesses, Controller, ControllerTimeout and
  // MungeSocket keep their old values until a restart; a change to one of them
  // is logged.
  void reload(Config config);

 private:
  void look_at_report_dir();
  Status start_timers();
  Status listen();
  void on_turn_end();
  void on_sample_timer();
  void sample_jobs(uint64_t now_ns);
  void scan_all_at_times(uint64_t now_ns);
  void estimate_at_times(uint64_t now_ns);
  void hand_in_at_times(uint64_t now_ns);
  void refresh_groups();
  void look_for_clean_up();
  void sweep_caches();
  void write_metrics();
  Replan replan();

  Node node_;
  BoundedChildren children_;
  MetricsFile metrics_file_;
  ReportQueue reports_;
  ReportQueue packer_;
  ProfileLoader profiles_;
  PoolDevices pools_;
  GpuWatch gpus_;
  SystemCpus system_cpus_;
  Scanner scanner_;
  Sampler sampler_;
  ReadWatch reads_;
  LaunchDoctor launch_doctor_;
  Enforcer enforcer_;
  LoaderSeparation separation_;
  NodeReporter reporter_;
  ControlLoop control_loop_;
  ControllerConnection controllers_;
  Rebalancer rebalancer_;
  ProcessWatch processes_;
  TaskLifecycle lifecycle_;
  MeasuredLimits limits_;
  OffSwitch off_switch_;
  Requests requests_;
  std::unique_ptr<Server> server_;

  uint64_t sampled_ns_ = 0;
  uint64_t scanned_all_ns_ = 0;
  uint64_t estimated_ns_ = 0;
  uint32_t clean_ups_ = 0;  // the guardian's clean-ups handled so far
  int sample_timer_ = -1;
  bool refresh_failed_ = false;  // the failure has been logged already
};

}  // namespace penstock
