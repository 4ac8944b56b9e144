// The machine's CPUs, and the CPUs near its PCI devices, from hwloc.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/units.h"
#include "node_agent/plan/gpus.h"

namespace penstock {

struct Topology {
  CpuSet cpus;                        // online
  std::vector<int> numa_node_of_cpu;  // index: CPU; -1: no such CPU
  std::vector<int> core_of_cpu;       // physical core; siblings have the same
  // The CPUs nearest to each GPU, network adapter and storage controller; all
  // CPUs if the machine does not report it.
  std::map<PciAddress, CpuSet> near_pci;
};

// xml_path: a topology saved by hwloc; "": this machine.
// Errors: kUnavailable  hwloc could not load the topology.
[[nodiscard]] Result<Topology> load_topology(const std::string& xml_path = "");

// whole_cores(): the CPUs whose physical core is completely in `cpus`.
// with_siblings(): `cpus` and the other CPUs of their cores. A CPU that is not
// in the table is a core of its own.
CpuSet whole_cores(const CpuSet& cpus, const std::vector<int>& core_of_cpu);
CpuSet with_siblings(const CpuSet& cpus, const std::vector<int>& core_of_cpu);

}  // namespace penstock
