#include "node_agent/plan/spec_cpus.h"

#include <string>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

// Slurm 22.05, 2 CPUs.
const std::string kNode =
    "NodeName=n1 Arch=x86_64 CoresPerSocket=2  CPUAlloc=0 CPUEfctv=1 CPUTot=2 "
    "CPULoad=3.01 Gres=gpu:2 NodeAddr=127.0.0.1 OS=Linux 6.18 #1 SMP @0  "
    "RealMemory=1 Sockets=1 Boards=1 CoreSpecCount=1 CPUSpecList=1  State=IDLE "
    "ThreadsPerCore=1 TmpDisk=0 Reason=CPUSpecList=0 \n";

std::string node(const std::string& layout, const std::string& spec) {
  return "NodeName=n1 " + layout + " " + spec + " State=IDLE\n";
}

const std::string kSmt = "CPUTot=8 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2";
// As on most machines with two threads a core: the second threads come last.
const std::vector<int> kSmtCores = {0, 1, 2, 3, 0, 1, 2, 3};

TEST_CASE("the CPUs of Slurm's list are given in the machine's numbers") {
  CHECK(*spec_cpus(kNode, {0, 1}) == CpuSet({1}));
  CHECK(*spec_cpus(node(kSmt, "CoreSpecCount=1 CPUSpecList=6-7"), kSmtCores) ==
        CpuSet({3, 7}));
  CHECK(*spec_cpus(node(kSmt, "CoreSpecCount=2 CPUSpecList=0-1,4-5"),
                   kSmtCores) == CpuSet({0, 4, 2, 6}));
}

TEST_CASE("a node without kept CPUs has none, whatever its layout") {
  for (const char* spec : {"", "CoreSpecCount=0", "MemSpecLimit=100"}) {
    const auto none = spec_cpus(node("CPUTot=99", spec), {0, 1});
    REQUIRE(none);
    CHECK(none->empty());
  }
}

TEST_CASE("text that is not about a node is no answer") {
  for (const char* text :
       {"", "slurm_load_node error: Unable to contact slurm controller\n",
        "Node n9 not found\n", "No such file or directory"}) {
    const auto none = spec_cpus(text, {0, 1});
    REQUIRE_FALSE(none);
    CHECK(none.error().code == Code::kUnavailable);
  }
}

TEST_CASE("a list that slurmd has not registered yet is unknown") {
  const auto early = spec_cpus(node(kSmt, "CoreSpecCount=1"), kSmtCores);
  REQUIRE_FALSE(early);
  CHECK(early.error().code == Code::kInvalidArgument);
}

TEST_CASE("a layout that is not the machine's is not mapped") {
  const std::string spec = "CoreSpecCount=1 CPUSpecList=1";
  const auto is_mapped = [&](const std::string& layout,
                             const std::vector<int>& cores) {
    return spec_cpus(node(layout, spec), cores).ok();
  };
  CHECK(is_mapped(kSmt, kSmtCores));
  CHECK_FALSE(is_mapped(kSmt, {0, 1, 2, 3}));
  CHECK_FALSE(is_mapped("", kSmtCores));
  // CPUs= gives Slurm one CPU a core.
  CHECK_FALSE(is_mapped("CPUTot=4 Sockets=2 CoresPerSocket=2 ThreadsPerCore=2",
                        kSmtCores));
  CHECK_FALSE(is_mapped("CPUTot=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=1",
                        kSmtCores));
  // Cores of two kinds, and a CPU that is offline.
  CHECK_FALSE(is_mapped(kSmt, {0, 0, 1, 1, 2, 3, 4, 5}));
  CHECK_FALSE(is_mapped(kSmt, {0, 1, 2, 3, 0, 1, 2, -1, 3}));
}

TEST_CASE("a malformed list is not mapped") {
  for (const char* list : {"x", "1-", "7-8", "9999"}) {
    CAPTURE(list);
    CHECK_FALSE(
        spec_cpus(node(kSmt, std::string("CPUSpecList=") + list), kSmtCores));
  }
}

}  // namespace
