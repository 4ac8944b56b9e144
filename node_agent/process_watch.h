// Follows the processes of jobs by the kernel's process events, and scans tasks
// for their loaders.
#pragma once

#include <optional>

#include "cgroup/proc_events.h"
#include "node_agent/command_lines.h"
#include "node_agent/control_loop.h"
#include "node_agent/loader_separation.h"
#include "node_agent/node.h"
#include "node_agent/plan/scan_queue.h"
#include "node_agent/pool_devices.h"
#include "node_agent/rebalancer.h"
#include "node_agent/sampler.h"
#include "node_agent/scanner.h"

namespace penstock {

class ProcessWatch {
 public:
  ProcessWatch(Node& node, BoundedChildren& children, const Sampler& sampler,
               const Scanner& scanner, const PoolDevices& pools,
               const LoaderSeparation& separation, ControlLoop& control_loop,
               Rebalancer& rebalancer)
      : node_(node),
        children_(children),
        sampler_(sampler),
        scanner_(scanner),
        pools_(pools),
        separation_(separation),
        control_loop_(control_loop),
        rebalancer_(rebalancer) {}

  // Creates the timer of scans. Call it before mark_for_scan().
  [[nodiscard]] Status start();

  // Uses the kernel's process events; polls if there are none.
  [[nodiscard]] Status watch();

  // Scans soon: a job's tasks, or one task.
  void mark_for_scan(JobId job);
  void mark_for_scan(JobId job, pid_t task);
  void forget(JobId job) { queue_.forget(job); }

  // Ends the present scan. Call it before the groups are removed.
  void stop() { reading_.reset(); }

 private:
  // A scan that waits for command lines.
  struct Reading {
    ScanQueue::Scan scan;
    TaskId task;
    uint64_t begun_ns = 0;
    TaskView view;
    std::vector<pid_t> pids;
  };

  Status subscribe();
  void on_events();
  void account_ended(Registry::Owner owner, pid_t pid);
  void arm_timer();
  void scan_next();
  void begin_scan(ScanQueue::Scan scan, uint64_t now_ns);
  void finish_scan(const CommandLines& lines);
  void apply(TaskView& view, Job& job, Task& task);
  void note_hanging(Job& job);
  void end_scan(ScanQueue::Scan scan, uint64_t begun_ns);
  void bring_strays_home(Job& job);

  Node& node_;
  BoundedChildren& children_;
  const Sampler& sampler_;
  const Scanner& scanner_;
  const PoolDevices& pools_;
  const LoaderSeparation& separation_;
  ControlLoop& control_loop_;
  Rebalancer& rebalancer_;
  std::optional<ProcEvents> events_;
  ScanQueue queue_;
  std::optional<Reading> reading_;
  std::optional<uint64_t> timer_ns_;  // 0: disarmed; nullopt: to be set
  int timer_ = -1;
};

}  // namespace penstock
