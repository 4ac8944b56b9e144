#include "node_agent/topology.h"

#include <hwloc.h>

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"

using namespace penstock;

namespace {

// tests/fixtures/hwloc/README describes the machine.
Topology two_sockets() {
  Result<Topology> topology =
      load_topology(PENSTOCK_FIXTURES "/hwloc/two_sockets.xml");
  REQUIRE(topology.ok());
  return *topology;
}

// A machine of hwloc's synthetic kind, by way of XML.
Topology synthetic(const char* description) {
  const TempDir directory;
  const std::string path = directory.path() / "machine.xml";
  hwloc_topology_t machine = nullptr;
  hwloc_topology_init(&machine);
  REQUIRE(hwloc_topology_set_synthetic(machine, description) == 0);
  REQUIRE(hwloc_topology_load(machine) == 0);
  REQUIRE(hwloc_topology_export_xml(machine, path.c_str(), 0) == 0);
  hwloc_topology_destroy(machine);
  Result<Topology> topology = load_topology(path);
  REQUIRE(topology.ok());
  return *topology;
}

}  // namespace

TEST_CASE("CPUs, cores and NUMA nodes come from hwloc") {
  const Topology topology = two_sockets();
  CHECK(topology.cpus.to_string() == "0-7");
  CHECK(topology.core_of_cpu == std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3});
  CHECK(topology.numa_node_of_cpu == std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1});
}

TEST_CASE("machines with more than 64 and more than 1024 CPUs are complete") {
  const Topology some = synthetic("pack:2 [numa] core:18 pu:2");
  CHECK(some.cpus.to_string() == "0-71");
  CHECK(some.core_of_cpu.back() == 35);
  const Topology many = synthetic("pack:16 [numa] core:64 pu:2");
  CHECK(many.cpus.to_string() == "0-2047");
  CHECK(many.core_of_cpu.size() == 2048);
  CHECK(many.core_of_cpu.back() == 1023);
  CHECK(many.numa_node_of_cpu.back() == 15);
  const CpuSet high({62, 63, 64, 1023, 1024, 1025, 2046, 2047});
  CHECK(whole_cores(high, many.core_of_cpu).to_string() ==
        "62-63,1024-1025,2046-2047");
  CHECK(with_siblings(high, many.core_of_cpu).to_string() ==
        "62-65,1022-1025,2046-2047");
}

TEST_CASE("cores of two kinds have their own numbers of threads") {
  Result<Topology> topology =
      load_topology(PENSTOCK_FIXTURES "/hwloc/p_and_e_cores.xml");
  REQUIRE(topology.ok());
  CHECK(topology->cpus.to_string() == "0-7");
  CHECK(topology->core_of_cpu == std::vector<int>{0, 0, 1, 1, 2, 3, 4, 5});
  // A P core is lent with both threads, an E core alone.
  CHECK(whole_cores(CpuSet({1, 2, 3, 5}), topology->core_of_cpu).to_string() ==
        "2-3,5");
}

TEST_CASE("a PCI device is near the CPUs of its socket") {
  const Topology topology = two_sockets();
  CHECK(topology.near_pci.at({0, 0x17, 0, 0}).to_string() == "0-3");
  CHECK(topology.near_pci.at({0, 0x97, 0, 0}).to_string() == "4-7");
  CHECK(topology.near_pci.at({1, 0x97, 0, 0}).to_string() == "4-7");
  CHECK_FALSE(topology.near_pci.contains({1, 0x17, 0, 0}));
}

TEST_CASE("the GPU on socket 1 has that socket's CPUs") {
  const std::map<int, CpuSet> near_gpu =
      cpus_by_gpu({{0, 0, {0, 0x17, 0, 0}}, {1, 1, {0, 0x97, 0, 0}}},
                  two_sockets().near_pci);
  CHECK(cpus_near(near_gpu, "1").to_string() == "4-7");
  CHECK(cpus_near(near_gpu, "0").to_string() == "0-3");
  CHECK(cpus_near(near_gpu, "0,1").to_string() == "0-7");
}

TEST_CASE("this machine's topology loads, and its devices are near its CPUs") {
  Result<Topology> topology = load_topology();
  REQUIRE(topology.ok());
  CHECK_FALSE(topology->cpus.empty());
  for (const auto& [address, cpus] : topology->near_pci) {
    CAPTURE(to_string(address));
    CHECK_FALSE(cpus.empty());
    CHECK((cpus - topology->cpus).empty());
  }
}

TEST_CASE("a file that hwloc cannot read is an error") {
  Result<Topology> topology = load_topology("/nonexistent.xml");
  REQUIRE_FALSE(topology.ok());
  CHECK(topology.error().code == Code::kUnavailable);
}

TEST_CASE("whole_cores drops partial cores, with_siblings completes them") {
  const std::vector<int> core_of_cpu = {0, 1, 0, 1, -1, 2};
  const CpuSet some({0, 1, 2, 4, 9});  // 4 and 9 have no siblings
  CHECK(whole_cores(some, core_of_cpu).to_string() == "0,2,4,9");
  CHECK(with_siblings(some, core_of_cpu).to_string() == "0-4,9");
  CHECK(whole_cores(CpuSet({3, 5}), core_of_cpu).to_string() == "5");
  CHECK(whole_cores(some, {}) == some);
  CHECK(with_siblings(some, {}) == some);
  CHECK(whole_cores(CpuSet(), core_of_cpu).empty());
}
