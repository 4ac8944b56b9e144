// The CPUs that no job gets although they look idle: those that Slurm keeps for
// the system, and those that the kernel's command line isolates.
#pragma once

#include <cstdint>
#include <string>

#include "node_agent/bounded_child.h"
#include "node_agent/node.h"

namespace penstock {

// The CPUs of isolcpus= and nohz_full=.
// sys_cpu: "/sys/devices/system/cpu".
// Errors: kIo, kInvalidArgument  a file cannot be read, or is no CPU list.
[[nodiscard]] Result<CpuSet> isolated_cpus(const std::string& sys_cpu);

// Keeps Node::system_cpus. Asks Slurm by scontrol, in a child.
class SystemCpus {
 public:
  SystemCpus(Node& node, BoundedChildren& children)
      : node_(node), children_(children) {}

  // Asks at once at the first call; again after 1 s, 2 s and so on up to 64 s
  // while the CPUs are unknown, then every 5 min. Call about once a second.
  void look(uint64_t now_ns);
  void look_again() { next_ns_ = 0; }

 private:
  void take(const Result<std::string>& node_text);
  void set(Result<CpuSet> cpus);

  Node& node_;
  BoundedChildren& children_;
  uint64_t next_ns_ = 0;  // CLOCK_MONOTONIC
  uint64_t pause_ms_ = 0;
  bool is_asking_ = false;
  bool was_told_ = false;  // the log has the present state
};

}  // namespace penstock
