#include "node_agent/topology.h"

#include <hwloc.h>

#include <memory>

namespace penstock {
namespace {

struct Destroy {
  void operator()(hwloc_topology* topology) const {
    hwloc_topology_destroy(topology);
  }
};

}  // namespace

Result<Topology> load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) {
    return Error{Code::kUnavailable, errno, "hwloc_topology_init failed"};
  }
  std::unique_ptr<hwloc_topology, Destroy> topology(raw);
  if (hwloc_topology_load(raw) != 0) {
    return Error{Code::kUnavailable, errno, "hwloc_topology_load failed"};
  }
  Topology result;
  std::vector<int> cpus;
  hwloc_obj_t pu = nullptr;
  while ((pu = hwloc_get_next_obj_by_type(raw, HWLOC_OBJ_PU, pu)) != nullptr) {
    const auto cpu = static_cast<size_t>(pu->os_index);
    cpus.push_back(static_cast<int>(cpu));
    if (result.core_of_cpu.size() <= cpu) {
      result.core_of_cpu.resize(cpu + 1, -1);
      result.numa_node_of_cpu.resize(cpu + 1, -1);
    }
    hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(raw, HWLOC_OBJ_CORE, pu);
    result.core_of_cpu[cpu] =
        static_cast<int>(core != nullptr ? core->logical_index : cpu);
    result.numa_node_of_cpu[cpu] =
        pu->nodeset != nullptr ? hwloc_bitmap_first(pu->nodeset) : -1;
  }
  result.cpus = CpuSet(std::move(cpus));
  return result;
}

}  // namespace penstock
