// The job's cpu.max while it is measured.
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/v2_node.h"

using namespace penstock;

TEST_CASE("a limited job gets its former limit back afterwards") {
  Node node;
  const std::string file = node.job() + "/cpu.max";
  node.machine.tree().write(file.substr(1), "max 100000\n");
  REQUIRE(node.backend->set_cpu_limit(kJob, {node.home}, 250));
  CHECK(node.machine.read(file) == "2500 10000");
  REQUIRE(node.backend->set_cpu_limit(kJob, {node.home}, 1750));
  CHECK(node.machine.read(file) == "17500 10000");
  SECTION("cleared") { REQUIRE(node.backend->clear_cpu_limit(kJob, nullptr)); }
  SECTION("removed") { REQUIRE(node.backend->remove_job(kJob, nullptr)); }
  SECTION("by a later run") {
    node.restart();
    REQUIRE(node.backend->sweep({kOther}, nullptr));
  }
  CHECK(node.machine.read(file) == "max 100000\n");
}

TEST_CASE("a lower limit of the site holds") {
  Node node;
  const std::string file = node.job() + "/cpu.max";
  node.machine.tree().write(file.substr(1), "50000 100000\n");
  REQUIRE(node.backend->set_cpu_limit(kJob, {node.home}, 1750));
  CHECK(node.machine.read(file) == "5000 10000");
  REQUIRE(node.backend->clear_cpu_limit(kJob, nullptr));
  CHECK(node.machine.read(file) == "50000 100000\n");
}

TEST_CASE("a limit that cannot be set is an error") {
  Node node;
  std::filesystem::remove(node.machine.tree().path() /
                          (node.job() + "/cpu.max").substr(1));
  CHECK(node.backend->set_cpu_limit(kJob, {node.home}, 250).error().code ==
        Code::kUnavailable);
  CHECK(node.backend->set_cpu_limit(kJob + 1, {node.home}, 250).error().code ==
        Code::kNotFound);
  CHECK(node.backend->clear_cpu_limit(kJob + 1, nullptr));
}
