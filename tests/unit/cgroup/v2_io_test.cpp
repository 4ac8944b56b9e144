// Limits of I/O at the job, and what the kernel says of its stalls.
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/v2_node.h"

using namespace penstock;

TEST_CASE("a limit that was lifted, or whose job has ended, stays away") {
  Node node;
  REQUIRE(node.backend->set_io_limit(kJob, "254:16", 4096));
  SECTION("lifted") {
    REQUIRE(node.backend->clear_io_limit(kJob, "254:16"));
    REQUIRE(node.backend->refresh());
    CHECK(node.machine.read(node.job() + "/io.max") == "254:16 rbps=max");
  }
  SECTION("ended") {
    std::filesystem::remove_all(node.machine.tree().path() /
                                node.job().substr(1));
    REQUIRE(node.backend->refresh());
  }
}

TEST_CASE("limits of I/O stand at the job, with io enabled for them") {
  Node node;
  REQUIRE(node.backend->set_io_limit(kJob, "254:16", 4096));
  CHECK(node.machine.read(node.job() + "/io.max") == "254:16 rbps=4096");
  CHECK(*node.backend->io_read_bytes(kJob, "254:16") == 0);
  REQUIRE(node.backend->attach_io(kJob, node.home));
  REQUIRE(node.backend->clear_io_limit(kJob, "254:16"));
  CHECK(node.machine.read(node.job() + "/io.max") == "254:16 rbps=max");
  CHECK_FALSE(node.backend->set_io_limit(kJob, "254:16", 0));
  CHECK_FALSE(node.backend->set_io_limit(kJob, "x", 1));
  REQUIRE(node.backend->remove_job(kJob, nullptr));
  REQUIRE(node.backend->sweep({}, nullptr));
  CHECK_FALSE(node.machine.fs().exists(node.job() + "/io.max"));
}

TEST_CASE("where io is not delegated the lines to add are named") {
  Node node;
  node.machine.fail("write", "n1_slurmstepd.scope/cgroup.subtree_control",
                    ENOENT);
  Status done = node.backend->set_io_limit(kJob, "254:16", 4096);
  CHECK(done.error().code == Code::kUnavailable);
  CHECK_THAT(done.error().message,
             Catch::Matchers::ContainsSubstring(
                 "line EnableExtraControllers=io to cgroup.conf (from Slurm "
                 "25.05 on)"));
  CHECK_THAT(done.error().message,
             Catch::Matchers::ContainsSubstring(
                 "line ExecStartPost=/bin/sh -c 'echo +io > /sys/fs/cgroup"
                 "/system.slice/n1_slurmstepd.scope/cgroup.subtree_control' "
                 "to a drop-in of slurmd.service"));
  CHECK(node.backend->attach_io(kJob, node.home).error().message ==
        done.error().message);
  // CPUs are lent all the same.
  REQUIRE(node.lend(CpuSet{{2}}));
}

TEST_CASE("pressure is the job's, where the kernel tells it") {
  Node node;
  const auto write = [&](const char* file, const char* text) {
    node.machine.tree().write(node.job().substr(1) + file, text);
  };
  write("/cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\n");
  write("/io.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=3\n");
  CHECK(node.backend->pressure(node.job())->cpu_us == 12);
  CHECK(node.backend->pressure(node.job())->io_us == 3);
  // psi=0 on the kernel's command line.
  node.machine.fail("read", "io.pressure", EOPNOTSUPP);
  CHECK(node.backend->pressure(node.job()).error().code == Code::kUnavailable);
  CHECK(node.backend->pressure("/none").error().code == Code::kUnavailable);
}
