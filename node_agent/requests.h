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
  // One for each type of Message.
  Answer on(const penstock_task_start& start, const Peer& peer);
  Answer on(const penstock_task_exit& exit, const Peer& peer);
  Answer on(const penstock_step_end& end, const Peer& peer);
  Answer on(const penstock_job_start& start, const Peer& peer);
  Answer on(const penstock_job_end& end, const Peer& peer);
  Answer on(const penstock_hello& hello, const Peer& peer);
  Answer on(const penstock_thread& thread, const Peer& peer);
  Answer on(const penstock_status& status, const Peer& peer);
  Answer on(const penstock_switch& wanted, const Peer& peer);
  Answer on(const penstock_limit& asked, const Peer& peer);
  Answer on(const penstock_notice& asked, const Peer& peer);

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
