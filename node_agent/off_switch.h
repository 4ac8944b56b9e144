// `penstock off` and `penstock on`. Off is a mark in StateDir that also holds
// for the next penstockd. While off, jobs are registered and watched as usual,
// so that `on` needs no restart. Plans grant nothing, and controllers see jobs
// on their entitlement and no idle CPUs. Mode=observe is the same for a part of
// the jobs; plans then grant nothing to them.
#pragma once

#include "node_agent/control_loop.h"
#include "node_agent/enforcer.h"
#include "node_agent/loader_separation.h"
#include "node_agent/node.h"
#include "node_agent/rebalancer.h"
#include "node_agent/task_lifecycle.h"
#include "report/node_status.h"

namespace penstock {

class OffSwitch {
 public:
  OffSwitch(Node& node, Enforcer& enforcer, const LoaderSeparation& separation,
            ControlLoop& control_loop, Rebalancer& rebalancer,
            TaskLifecycle& lifecycle)
      : node_(node),
        enforcer_(enforcer),
        separation_(separation),
        control_loop_(control_loop),
        rebalancer_(rebalancer),
        lifecycle_(lifecycle) {}

  // Takes over the state that an earlier penstockd left.
  void look_for_mark();

  [[nodiscard]] Result<NodeSwitch> switch_off();
  [[nodiscard]] Result<NodeSwitch> switch_on();

  // Decides anew which jobs are only observed: after a change of the
  // configuration, or of what is known of a job.
  void look_at_modes();

  // Releases the jobs that could not be released before.
  void release_rest();

 private:
  uint32_t release_all();
  void begin_anew(Job& job);

  Node& node_;
  Enforcer& enforcer_;
  const LoaderSeparation& separation_;
  ControlLoop& control_loop_;
  Rebalancer& rebalancer_;
  TaskLifecycle& lifecycle_;
  uint32_t not_home_ = 0;  // jobs not yet released
};

}  // namespace penstock
