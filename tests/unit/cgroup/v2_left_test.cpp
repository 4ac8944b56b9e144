// Groups that remain after a job, Penstock's and Slurm's, and their removal.
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/v2_node.h"

using namespace penstock;

TEST_CASE(
    "groups of an ended task, and those that Slurm left because of them, are "
    "removed") {
  Node node;
  REQUIRE(node.lend(CpuSet{{2}}));
  node.end_job();
  REQUIRE(node.backend->refresh());
  CHECK(node.machine.fs().list_dirs(node.task)->empty());
  node.refresh(5);
  CHECK_FALSE(node.machine.fs().exists(node.job()));
  CHECK(node.machine.fs().exists(node.lender_task));
}

TEST_CASE("groups that Slurm left are removed only under Slurm's lock") {
  Node node;
  REQUIRE(node.lend(CpuSet{{2}}));
  node.end_job();
  {
    const auto slurm = node.machine.fs().try_lock(node.scope());
    REQUIRE(slurm);
    node.refresh(20);
    CHECK(node.machine.fs().exists(node.task));
  }
  SECTION("all are removed once the lock is free") {
    node.refresh(1);
    CHECK_FALSE(node.machine.fs().exists(node.job()));
  }
  SECTION("a step that begins under the lock is kept until its end") {
    const std::string step = node.job() + "/step_0";
    REQUIRE(node.machine.fs().write_file(step + "/cgroup.subtree_control",
                                         "+cpuset"));
    node.refresh(1);  // its process is not in the step yet
    CHECK(node.machine.fs().exists(node.task));
    node.machine.set_populated(step, true);
    node.refresh(20);
    CHECK(node.machine.fs().exists(node.task));
    node.machine.set_populated(step, false);
    node.refresh(5);
    CHECK_FALSE(node.machine.fs().exists(node.job()));
  }
  CHECK(node.machine.fs().try_lock(node.scope()));
}

TEST_CASE("a step that cannot be removed is left to the next run") {
  Node node;
  REQUIRE(node.lend(CpuSet{{2}}));
  node.end_job();
  node.machine.fail("rmdir", "job_7/step_0", EBUSY);
  node.refresh(30);
  node.machine.heal();
  node.refresh(30);
  CHECK(node.machine.fs().exists(node.task));
  node.restart();
  REQUIRE(node.backend->sweep({}, nullptr));
  node.refresh(5);
  CHECK_FALSE(node.machine.fs().exists(node.job()));
}

TEST_CASE("a later run removes the groups that Slurm left for a killed one") {
  Node node;
  REQUIRE(node.lend(CpuSet{{2}}));
  SECTION("the job had ended") { node.end_job(); }
  node.restart();
  REQUIRE(node.backend->sweep({}, node.find_home()));
  node.refresh(10);
  if (node.machine.fs().exists(node.task)) {  // the job ends only now
    node.check_as_before();
    node.end_job();
    node.refresh(10);
  }
  CHECK_FALSE(node.machine.fs().exists(node.job()));
  CHECK(node.machine.fs().exists(node.lender_task));
}

TEST_CASE("a step that still has a process is left to Slurm") {
  Node node;
  REQUIRE(node.lend(CpuSet{{2}}));
  node.machine.end(kLoader);
  node.machine.end(kTrainer);
  node.machine.set_populated(node.task, false);  // its slurmstepd still runs
  for (int i = 0; i < 10; ++i) REQUIRE(node.backend->refresh());
  CHECK(node.machine.fs().exists(node.task));
}

TEST_CASE(
    "a job with a group that cannot be removed is not reported as released") {
  Node node;
  REQUIRE(node.lend(CpuSet{{2}}));
  REQUIRE(node.backend->set_io_limit(kJob, "254:16", 4096));
  node.machine.fail("rmdir", "penstock_loader", EBUSY);
  for (int again = 0; again < 2; ++again) {
    const Status removed = node.backend->remove_job(kJob, node.find_home());
    REQUIRE_FALSE(removed);
    CHECK(removed.error().code == Code::kUnavailable);
    node.refresh(1);
    CHECK(node.machine.read(node.job() + "/cpuset.cpus").starts_with("0-1"));
    CHECK(node.machine.read(node.user() + "/cpuset.cpus").starts_with("0-1"));
    CHECK(node.machine.read(node.job() + "/cpu.weight").starts_with("100"));
    CHECK(node.machine.read(node.job() + "/io.max") == "254:16 rbps=max");
  }
  node.machine.heal();
  REQUIRE(node.backend->remove_job(kJob, node.find_home()));
  node.check_as_before();
}

// After penstock off and on, for example.
TEST_CASE("a half-released job is lent CPUs in new groups") {
  Node node;
  REQUIRE(node.lend(CpuSet{{2}}));
  node.machine.fail("rmdir", "penstock_home", EBUSY);
  REQUIRE_FALSE(node.backend->remove_job(kJob, node.find_home()));
  node.machine.heal();
  REQUIRE(node.backend->add_task(kJob, *node.backend->home_of({kTrainer, 0})));
  REQUIRE(node.lend(CpuSet{{2}}));
  CHECK(node.machine.group_of(kLoader) == node.task + "/penstock_loader");
  CHECK(node.machine.effective_cpus(node.machine.group_of(kLoader)) ==
        CpuSet{{2}});
  REQUIRE(node.backend->remove_job(kJob, node.find_home()));
  node.check_as_before();
}

// A requeued job gets its directory again.
TEST_CASE("a job that ends before it is released is forgotten") {
  Node node;
  REQUIRE(node.lend(CpuSet{{2}}));
  REQUIRE(node.backend->set_io_limit(kJob, "254:16", 4096));
  node.machine.fail("rmdir", "penstock_loader", EBUSY);
  REQUIRE_FALSE(node.backend->remove_job(kJob, node.find_home()));
  node.machine.heal();
  node.end_job();
  std::filesystem::remove_all(node.machine.tree().path() /
                              node.job().substr(1));
  node.refresh(1);
  CHECK(node.backend->set_away_cpus(kJob, CpuSet{{2}}).error().code ==
        Code::kUnavailable);
  CHECK(node.backend->set_io_limit(kJob, "254:16", 4096).error().code ==
        Code::kNotFound);
}

// A guardian that mistook penstockd for hung cleans up as penstockd resumes.
TEST_CASE("a thread moved out of its home gets no wider cpuset") {
  Node node;
  REQUIRE(node.lend(CpuSet{{2}}));
  REQUIRE(node.machine.fs().write_file(node.task + "/cgroup.procs", "100"));
  REQUIRE(node.machine.fs().write_file(node.user() + "/cpuset.cpus", "0-1"));
  const bool is_lent_more = GENERATE(false, true);
  if (is_lent_more) {
    REQUIRE(node.backend->set_away_cpus(kJob, CpuSet{{2, 3}}));
  } else {
    node.refresh(1);
  }
  CHECK(node.machine.read(node.job() + "/cpuset.cpus").starts_with("0-1"));
  CHECK(node.machine.read(node.user() + "/cpuset.cpus").starts_with("0-1"));
  CHECK(node.machine.fs().list_dirs(node.task)->empty());
  SECTION("unless its home is created again") {
    REQUIRE(node.backend->send_away(kJob, node.home));
    CHECK(node.machine.group_of(kTrainer) == node.task + "/penstock_home");
  }
}

TEST_CASE("without free descriptors no thread counts as having left its home") {
  Node node;
  REQUIRE(node.lend(CpuSet{{2}}));
  node.machine.fail("read", node.task + "/cgroup.threads", EMFILE);
  SECTION("threads of the task unreadable") {}
  SECTION("threads of the home unreadable, too") {
    node.machine.fail("read", "penstock_home", EMFILE);
  }
  node.refresh(1);
  CHECK(node.machine.group_of(kTrainer) == node.task + "/penstock_home");
  CHECK(node.machine.group_of(kLoader) == node.task + "/penstock_loader");
  CHECK(node.machine.read(node.job() + "/cpuset.cpus").starts_with("0-2"));
}
