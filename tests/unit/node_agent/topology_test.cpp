#include "node_agent/topology.h"

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

// tests/fixtures/hwloc/README describes the machine.
Topology two_sockets() {
  Result<Topology> topology =
      load_topology(PENSTOCK_FIXTURES "/hwloc/two_sockets.xml");
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
