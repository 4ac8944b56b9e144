#include "node_agent/topology.h"

#include <hwloc.h>
#include <stdlib.h>

#include <cerrno>
#include <memory>
#include <set>

namespace penstock {
namespace {

struct Destroy {
  void operator()(hwloc_topology* topology) const {
    hwloc_topology_destroy(topology);
  }
};

using Handle = std::unique_ptr<hwloc_topology, Destroy>;

Error failed(const char* call) {
  return Error{Code::kUnavailable, errno, std::string(call) + " failed"};
}

Result<Handle> open_topology(const std::string& xml_path) {
  // hwloc's plugins would load vendors' libraries such as NVML into this
  // process. The parts used here are built in.
  ::setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return failed("hwloc_topology_init");
  Handle topology(raw);
  if (!xml_path.empty() && hwloc_topology_set_xml(raw, xml_path.c_str()) != 0) {
    return failed("hwloc_topology_set_xml");
  }
  // Bridges stay filtered, so that a device's parent is the object near it.
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_PCI_DEVICE,
                                 HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  if (hwloc_topology_load(raw) != 0) return failed("hwloc_topology_load");
  return topology;
}

void add_cpus(hwloc_topology_t topology, Topology& result) {
  std::vector<int> cpus;
  hwloc_obj_t pu = nullptr;
  while ((pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) !=
         nullptr) {
    const auto cpu = static_cast<size_t>(pu->os_index);
    cpus.push_back(static_cast<int>(cpu));
    if (result.core_of_cpu.size() <= cpu) {
      result.core_of_cpu.resize(cpu + 1, -1);
      result.numa_node_of_cpu.resize(cpu + 1, -1);
    }
    hwloc_obj_t core =
        hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_CORE, pu);
    result.core_of_cpu[cpu] =
        static_cast<int>(core != nullptr ? core->logical_index : cpu);
    result.numa_node_of_cpu[cpu] =
        pu->nodeset != nullptr ? hwloc_bitmap_first(pu->nodeset) : -1;
  }
  result.cpus = CpuSet(std::move(cpus));
}

CpuSet cpus_of(hwloc_const_cpuset_t set) {
  std::vector<int> cpus;
  for (int cpu = hwloc_bitmap_first(set); cpu >= 0 && cpu < CpuSet::kMaxCpus;
       cpu = hwloc_bitmap_next(set, cpu)) {
    cpus.push_back(cpu);
  }
  return CpuSet(std::move(cpus));
}

void add_devices(hwloc_topology_t topology, Topology& result) {
  hwloc_obj_t device = nullptr;
  while ((device = hwloc_get_next_pcidev(topology, device)) != nullptr) {
    hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology, device);
    if (place == nullptr) continue;
    const auto& pci = device->attr->pcidev;
    result.near_pci[{pci.domain, pci.bus, pci.dev, pci.func}] =
        cpus_of(place->cpuset);
  }
}

}  // namespace

Result<Topology> load_topology(const std::string& xml_path) {
  Result<Handle> topology = open_topology(xml_path);
  if (!topology) return std::move(topology).error();
  Topology result;
  add_cpus(topology->get(), result);
  add_devices(topology->get(), result);
  return result;
}

CpuSet with_siblings(const CpuSet& cpus, const std::vector<int>& core_of_cpu) {
  std::set<int> cores;
  for (int cpu : cpus.cpus()) {
    if (size_t(cpu) < core_of_cpu.size())
      cores.insert(core_of_cpu[size_t(cpu)]);
  }
  cores.erase(-1);
  std::vector<int> siblings;
  for (size_t cpu = 0; cpu < core_of_cpu.size(); ++cpu) {
    if (cores.contains(core_of_cpu[cpu])) siblings.push_back(int(cpu));
  }
  return cpus | CpuSet(std::move(siblings));
}

CpuSet whole_cores(const CpuSet& cpus, const std::vector<int>& core_of_cpu) {
  const CpuSet strangers = with_siblings(cpus, core_of_cpu) - cpus;
  return cpus - with_siblings(strangers, core_of_cpu);
}

}  // namespace penstock
