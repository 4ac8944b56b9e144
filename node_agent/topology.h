// The machine's CPUs and what is near them, through hwloc.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/units.h"
#include "node_agent/gpus.h"

namespace penstock {

struct Topology {
  CpuSet cpus;                        // online
  std::vector<int> numa_node_of_cpu;  // index: CPU; -1: no such CPU
  std::vector<int> core_of_cpu;       // physical core; siblings share it
  // The CPUs nearest to each GPU, network adapter, storage controller; all of
  // them where the machine does not say.
  std::map<PciAddress, CpuSet> near_pci;
};

// xml_path: a machine that hwloc has saved; "" for this one.
// Errors: kUnavailable  hwloc could not load the topology.
[[nodiscard]] Result<Topology> load_topology(const std::string& xml_path = "");

// Of these CPUs those whose physical core is among them whole; and these CPUs
// with all others of their cores. A CPU that the table does not know is a core.
CpuSet whole_cores(const CpuSet& cpus, const std::vector<int>& core_of_cpu);
CpuSet with_siblings(const CpuSet& cpus, const std::vector<int>& core_of_cpu);

}  // namespace penstock
