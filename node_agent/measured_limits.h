// Limits of jobs that measure themselves with fewer resources (penstock
// analyze).
#pragma once

#include "node_agent/node.h"
#include "node_agent/pool_devices.h"
#include "node_agent/rebalancer.h"
#include "node_agent/scanner.h"
#include "node_agent/server.h"

namespace penstock {

class MeasuredLimits {
 public:
  MeasuredLimits(Node& node, const Scanner& scanner, const PoolDevices& pools,
                 Rebalancer& rebalancer)
      : node_(node),
        scanner_(scanner),
        pools_(pools),
        rebalancer_(rebalancer) {}

  // Handles a request to set, renew or end the limit of the sender's job.
  Answer on_limit(const penstock_limit& asked, const Peer& peer);

  // Ends the limits that were not renewed in time.
  void end_lapsed(uint64_t now_ns);

 private:
  Answer set(Job& job);
  Status hold(const Job& job);
  bool clear_cpu_limit(Job& job);
  void end(Job& job);

  Node& node_;
  const Scanner& scanner_;
  const PoolDevices& pools_;
  Rebalancer& rebalancer_;
};

}  // namespace penstock
