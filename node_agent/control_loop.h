// The control loop: a timer that runs while a job has lent CPUs, and sends
// loader threads away and brings them home.
#pragma once

#include <cstdint>
#include <functional>

#include "node_agent/enforcer.h"
#include "node_agent/node.h"

namespace penstock {

class ControlLoop {
 public:
  ControlLoop(Node& node, Enforcer& enforcer)
      : node_(node), enforcer_(enforcer) {}

  // Creates the timer. before_tick is called at the start of each tick.
  [[nodiscard]] Status start(std::function<void()> before_tick);

  // Starts or stops the ticks. Call after grants or the places of threads have
  // changed.
  void adjust();

  // Tells the guardian whether it must clean up if penstockd hangs: loader
  // threads may be away, or a job has a measured limit.
  void beat() const;

 private:
  void tick();

  Node& node_;
  Enforcer& enforcer_;
  std::function<void()> before_tick_;
  uint64_t ticked_ns_ = 0;
  int timer_ = -1;
  bool ticking_ = false;
};

}  // namespace penstock
