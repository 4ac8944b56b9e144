// The machine's CPUs, through hwloc.
#pragma once

#include <vector>

#include "common/result.h"
#include "common/units.h"

namespace penstock {

struct Topology {
  CpuSet cpus;                        // online
  std::vector<int> numa_node_of_cpu;  // index: CPU; -1: no such CPU
  std::vector<int> core_of_cpu;       // physical core; siblings share it
};

// Errors: kUnavailable  hwloc could not load the topology.
[[nodiscard]] Result<Topology> load_topology();

}  // namespace penstock
