// I/O limits of a job's group, and its pressure.
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/v2_node.h"

using namespace penstock;

TEST_CASE("a lifted limit, or that of an ended job, is not set again") {
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

TEST_CASE("I/O limits are set on the job's group, with io enabled") {
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

TEST_CASE("a limit of the site holds and is restored afterwards") {
  Node node;
  REQUIRE(node.backend->attach_io(kJob, node.home));
  const std::string file = node.job() + "/io.max";
  const std::string own = "254:16 rbps=8192 wbps=max riops=max wiops=max\n";
  node.machine.tree().write(file.substr(1), own);
  REQUIRE(node.backend->set_io_limit(kJob, "254:16", 1 << 20));
  CHECK(node.machine.read(file) == "254:16 rbps=8192");
  REQUIRE(node.backend->set_io_limit(kJob, "254:16", 4096));
  CHECK(node.machine.read(file) == "254:16 rbps=4096");
  SECTION("lifted") { REQUIRE(node.backend->clear_io_limit(kJob, "254:16")); }
  SECTION("removed") { REQUIRE(node.backend->remove_job(kJob, nullptr)); }
  SECTION("by a later run") {
    node.restart();
    REQUIRE(node.backend->sweep({kJob}, nullptr));  // only kJob has marks
    REQUIRE(node.backend->sweep({kOther}, nullptr));
  }
  CHECK(node.machine.read(file) == "254:16 rbps=8192");
}

TEST_CASE(
    "a limit that the site sets during Penstock's holds and stays afterwards") {
  Node node;
  REQUIRE(node.backend->set_io_limit(kJob, "254:16", 4096));
  const std::string file = node.job() + "/io.max";
  const auto set = [&](const std::string& rate) {
    node.machine.tree().write(file.substr(1), "254:16 rbps=" + rate +
                                                  " wbps=max riops=max "
                                                  "wiops=max\n");
    node.refresh(1);
  };
  std::string own = "8192";
  SECTION("higher") {
    set(own);
    CHECK(node.machine.read(file) == "254:16 rbps=4096");
  }
  SECTION("lower") {
    own = "1024";
    set(own);
    CHECK(node.machine.read(file).starts_with("254:16 rbps=1024"));
    REQUIRE(node.backend->set_io_limit(kJob, "254:16", 2048));
    CHECK(node.machine.read(file).starts_with("254:16 rbps=1024"));
  }
  SECTION("higher, then none") {
    set(own);
    own = "max";
    set(own);
    CHECK(node.machine.read(file) == "254:16 rbps=4096");
  }
  SECTION("lower, then none") {
    set("1024");
    own = "max";
    set(own);
    CHECK(node.machine.read(file) == "254:16 rbps=4096");
  }
  REQUIRE(node.backend->remove_job(kJob, nullptr));
  CHECK(node.machine.read(file).starts_with("254:16 rbps=" + own));
}

// Within the half second before refresh() sees it.
TEST_CASE("a limit that the site has just set survives changes of Penstock's") {
  Node node;
  REQUIRE(node.backend->set_io_limit(kJob, "254:16", 4096));
  const std::string file = node.job() + "/io.max";
  node.machine.tree().write(file.substr(1), "254:16 rbps=1024\n");
  SECTION("lifted") { REQUIRE(node.backend->clear_io_limit(kJob, "254:16")); }
  SECTION("removed") { REQUIRE(node.backend->remove_job(kJob, nullptr)); }
  SECTION("changed") {
    REQUIRE(node.backend->set_io_limit(kJob, "254:16", 2048));
  }
  CHECK(node.machine.read(file).starts_with("254:16 rbps=1024"));
}

// penstockd was stopped, and resumes before it learns of its guardian's sweep.
TEST_CASE("a limit that is set again after a guardian's sweep can be removed") {
  const bool is_sites = GENERATE(false, true);
  Node node;
  if (is_sites) {
    REQUIRE(node.machine.fs().write_file(
        node.scope() + "/cgroup.subtree_control", "+io"));
  }
  REQUIRE(node.backend->set_io_limit(kJob, "254:16", 4096));
  REQUIRE(node.later_run().sweep({}, nullptr));
  node.refresh(2);
  const std::string file = node.job() + "/io.max";
  CHECK(node.machine.read(file).starts_with("254:16 rbps=4096"));
  SECTION("by penstockd") {
    REQUIRE(node.backend->remove_job(kJob, nullptr));
    CHECK(node.machine.read(file).starts_with("254:16 rbps=max"));
  }
  SECTION("by its guardian again") {
    REQUIRE(node.later_run().sweep({}, nullptr));
    CHECK(node.machine.fs().exists(file) == is_sites);
    if (is_sites) {
      CHECK(node.machine.read(file).starts_with("254:16 rbps=max"));
    }
  }
  CHECK_FALSE(node.machine.has_mark(node.job()));
}

TEST_CASE("io stays enabled if Slurm has enabled it in a job") {
  Node node;
  REQUIRE(node.backend->attach_io(kJob, node.home));
  REQUIRE(node.machine.fs().write_file(node.job() + "/cgroup.subtree_control",
                                       "+io"));
  REQUIRE(node.backend->sweep({}, nullptr));
  CHECK(node.machine.fs().exists(node.job() + "/io.max"));
  CHECK_FALSE(node.machine.has_mark(node.scope()));
}

TEST_CASE("io that the site has enabled is not disabled") {
  Node node;
  REQUIRE(node.machine.fs().write_file(node.scope() + "/cgroup.subtree_control",
                                       "+io"));
  std::filesystem::remove_all(node.machine.tree().path() /
                              node.job().substr(1));
  const Status done = node.backend->set_io_limit(kJob, "254:16", 4096);
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Code::kNotFound);
  CHECK_FALSE(node.machine.has_mark(node.scope()));
  REQUIRE(node.backend->sweep({}, nullptr));
  CHECK(node.machine.fs().exists(node.lender() + "/io.max"));
}

TEST_CASE("the scope is marked before io is enabled, and unmarked on failure") {
  Node node;
  node.machine.fail("write", "n1_slurmstepd.scope/cgroup.subtree_control",
                    EBUSY);
  CHECK_FALSE(node.backend->attach_io(kJob, node.home));
  CHECK_FALSE(node.machine.has_mark(node.scope()));
  node.machine.heal();
  bool was_marked = false;
  node.machine.before_write = [&](const std::string& path) {
    if (path == node.scope() + "/cgroup.subtree_control") {
      was_marked = node.machine.has_mark(node.scope());
    }
  };
  REQUIRE(node.backend->attach_io(kJob, node.home));
  CHECK(was_marked);
}

TEST_CASE("without delegated io the error names the lines to add") {
  Node node;
  node.machine.fail("write", "n1_slurmstepd.scope/cgroup.subtree_control",
                    ENOENT);
  Status done = node.backend->set_io_limit(kJob, "254:16", 4096);
  CHECK(done.error().code == Code::kUnavailable);
  CHECK_THAT(done.error().message,
             Catch::Matchers::ContainsSubstring(
                 "lines EnableControllers=yes and EnableExtraControllers=io to "
                 "cgroup.conf (from Slurm 25.05 on)"));
  CHECK_THAT(done.error().message,
             Catch::Matchers::ContainsSubstring(
                 "line IOAccounting=yes to the section [Service] of a drop-in "
                 "of slurmd.service"));
  CHECK(node.backend->attach_io(kJob, node.home).error().message ==
        done.error().message);
  // CPUs can still be lent.
  REQUIRE(node.lend(CpuSet{{2}}));
}

TEST_CASE("pressure is the job's if the kernel reports it") {
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

TEST_CASE("a job's killed processes are counted, with its memory limit") {
  Node node;
  const auto write = [&](const char* file, const char* text) {
    node.machine.tree().write(node.job().substr(1) + file, text);
  };
  CHECK(node.backend->memory_kills(node.job()).error().code == Code::kNotFound);
  write("/memory.events", "low 0\noom 2\noom_kill 2\n");
  CHECK(node.backend->memory_kills(node.job())->killed == 2);
  CHECK(node.backend->memory_kills(node.job())->limit_bytes == 0);
  write("/memory.max", "4096\n");
  CHECK(node.backend->memory_kills(node.job())->limit_bytes == 4096);
  write("/memory.events", "low 0\noom 0\noom_kill 2\n");  // by the machine
  CHECK(node.backend->memory_kills(node.job())->limit_bytes == 0);
  write("/memory.events", "low 0\noom 2\noom_kill 2\n");
  write("/memory.max", "max\n");
  CHECK(node.backend->memory_kills(node.job())->limit_bytes == 0);
}

TEST_CASE("a job's CPU time outside of the kernel is a part of all") {
  Node node;
  node.machine.tree().write(node.job().substr(1) + "/cpu.stat",
                            "usage_usec 12\nuser_usec 7\nsystem_usec 5\n");
  CHECK(*node.backend->cpu_usage_ns(node.job()) == 12'000);
  CHECK(*node.backend->cpu_user_ns(node.job()) == 7'000);
}

TEST_CASE("a home's cpuset is its group's") {
  Node node;
  CHECK(*node.backend->cpuset_of(node.home) ==
        node.machine.effective_cpus(node.home.cpuset_path));
  CHECK_FALSE(node.backend->cpuset_of(node.home)->empty());
}
