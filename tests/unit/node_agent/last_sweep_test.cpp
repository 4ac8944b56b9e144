#include "node_agent/last_sweep.h"

#include <unistd.h>

#include "tests/unit/cgroup/v2_node.h"

using namespace penstock;

TEST_CASE(
    "the last sweep moves all processes back, even more than one sweep can") {
  Node node;
  REQUIRE(node.lend(CpuSet{{2}}));
  for (pid_t pid = 500; pid < 510; ++pid) {
    node.machine.start(pid, pid, node.task + "/penstock_home", CpuSet{{0, 1}});
  }
  node.machine.before_write = [](const std::string& path) {
    if (path.ends_with("/cgroup.procs")) ::usleep(40'000);
  };
  REQUIRE_FALSE(node.backend->sweep({}, node.find_home()));
  REQUIRE(last_sweep(*node.backend, node.find_home()));
  for (pid_t pid = 500; pid < 510; ++pid) {
    CHECK(node.machine.group_of(pid) == node.task);
  }
  node.check_as_before();
}

TEST_CASE("the last sweep fails if a group cannot be removed") {
  Node node;
  REQUIRE(node.lend(CpuSet{{2}}));
  node.machine.fail("rmdir", "penstock_home", EBUSY);
  CHECK_FALSE(last_sweep(*node.backend, node.find_home()));
  node.machine.heal();
  REQUIRE(last_sweep(*node.backend, node.find_home()));
  node.check_as_before();
}
