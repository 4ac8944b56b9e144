// Answers the requests of the plugin, jobs and tools.
#pragma once

#include "node_agent/measured_limits.h"
#include "node_agent/node.h"
#include "node_agent/node_reporter.h"
#include "node_agent/off_switch.h"
#include "node_agent/process_watch.h"
#include "node_agent/server.h"
#include "node_agent/task_lifecycle.h"

namespace penstock {

class Requests {
 public:
  Requests(Node& node, Enforcer& enforcer, const NodeReporter& reporter,
           Rebalancer& rebalancer, ProcessWatch& processes,
           TaskLifecycle& lifecycle, MeasuredLimits& limits,
           OffSwitch& off_switch)
      : node_(node),
        enforcer_(enforcer),
        reporter_(reporter),
        rebalancer_(rebalancer),
        processes_(processes),
        lifecycle_(lifecycle),
        limits_(limits),
        off_switch_(off_switch) {}

  Answer handle(const Message& message, const Peer& peer);

 private:
  Answer on_task_start(const penstock_task_start& start);
  void on_step_end(const penstock_step_end& end);
  void on_job_start(const penstock_job_start& start);
  void on_job_end(JobId job);
  Answer on_hello(const penstock_hello& hello, const Peer& peer);
  Answer on_thread(const penstock_thread& thread, const Peer& peer);
  Answer on_status(const penstock_status& status, const Peer& peer) const;
  Answer on_switch(const penstock_switch& wanted);

  Node& node_;
  Enforcer& enforcer_;
  const NodeReporter& reporter_;
  Rebalancer& rebalancer_;
  ProcessWatch& processes_;
  TaskLifecycle& lifecycle_;
  MeasuredLimits& limits_;
  OffSwitch& off_switch_;
};

}  // namespace penstock
