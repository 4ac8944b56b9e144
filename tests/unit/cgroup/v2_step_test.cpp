// Loans to several tasks of one step.
#include <unistd.h>

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/v2_node.h"

using namespace penstock;

TEST_CASE("a task that starts during a loan takes part in it") {
  Node node;
  REQUIRE(node.lend(CpuSet{{2}}));
  const std::string second = node.machine.make_task("job_7", "step_1", 0, "1");
  node.machine.start(300, 300, second, CpuSet{{1}});
  const Home home = *node.backend->home_of({300, 0});
  REQUIRE(node.backend->add_task(kJob, home));
  REQUIRE(node.backend->send_away(kJob, home));
  CHECK(node.machine.affinity_of(300) == CpuSet{{2}});
  REQUIRE(node.backend->remove_job(kJob, node.find_home()));
  CHECK(node.machine.group_of(300) == second);
  node.check_as_before();
}

TEST_CASE("an ended task does not prevent loans to the others") {
  Node node;
  const std::string second = node.machine.make_task("job_7", "step_1", 0, "1");
  node.machine.start(300, 300, second, CpuSet{{1}});
  REQUIRE(node.backend->add_task(kJob, *node.backend->home_of({300, 0})));
  node.machine.end(300);
  std::filesystem::remove_all(node.machine.tree().path() /
                              (node.job() + "/step_1").substr(1));
  REQUIRE(node.lend(CpuSet{{2}}));
  REQUIRE(node.backend->remove_job(kJob, node.find_home()));
  node.check_as_before();
}

TEST_CASE("a loan does not affect another task of the same step") {
  Node node;
  const std::string other = node.machine.make_task("job_7", "step_0", 1, "0-1");
  node.machine.start(300, 300, other, CpuSet{{0, 1}});
  const Home home = *node.backend->home_of({300, 0});
  REQUIRE(node.backend->add_task(kJob, home));
  REQUIRE(node.lend(CpuSet{{2}}));
  CHECK(node.machine.effective_cpus(other) == CpuSet{{0, 1}});
  SECTION("until that task borrows itself") {
    REQUIRE(node.backend->send_away(kJob, home));
    CHECK(node.machine.affinity_of(300) == CpuSet{{2}});
    REQUIRE(node.backend->bring_home(home));
    CHECK(node.machine.effective_cpus(node.machine.group_of(300)) ==
          CpuSet{{0, 1}});
  }
  SECTION("even when the borrowing task ends") {
    REQUIRE(node.backend->send_away(kJob, home));
    node.machine.end(kLoader);
    node.machine.end(kTrainer);
    node.machine.set_populated(node.task, false);
    REQUIRE(node.backend->refresh());
    CHECK(node.machine.affinity_of(300) == CpuSet{{2}});
    node.machine.start(kTrainer, kTrainer, node.task, CpuSet{{0, 1}});
    node.machine.start(kLoader, kTrainer, node.task, CpuSet{{1}});
    REQUIRE(node.backend->bring_home(home));
  }
  REQUIRE(node.backend->remove_job(kJob, node.find_home()));
  // The kernel does not withdraw these from processes by itself.
  CHECK(node.machine.read(other + "/cpuset.cpus") == "0-1");
  CHECK_FALSE(node.machine.has_mark(other));
  CHECK(node.machine.group_of(300) == other);
  node.check_as_before();
}

TEST_CASE("all tasks of a step may have away threads at the same time") {
  Node node;
  constexpr pid_t kNeighbour = 300;
  const std::string other = node.machine.make_task("job_7", "step_0", 1, "0-1");
  node.machine.start(kNeighbour, kNeighbour, other, CpuSet{{0, 1}});
  node.machine.start(kNeighbour + 1, kNeighbour, other, CpuSet{{0}});
  const Home neighbour = *node.backend->home_of({kNeighbour + 1, 0});
  REQUIRE(node.backend->add_task(kJob, neighbour));
  REQUIRE(node.lend(CpuSet{{2}}));
  REQUIRE(node.backend->send_away(kJob, neighbour));
  CHECK(node.machine.affinity_of(kLoader) == CpuSet{{2}});
  CHECK(node.machine.affinity_of(kNeighbour + 1) == CpuSet{{2}});
  SECTION("on more CPUs later") {
    REQUIRE(node.backend->set_away_cpus(kJob, CpuSet{{2, 3}}));
    for (pid_t tid : {kLoader, kNeighbour + 1}) {
      CHECK(node.machine.effective_cpus(node.machine.group_of(tid)) ==
            CpuSet{{2, 3}});
    }
  }
  SECTION("again after they were home") {
    REQUIRE(node.backend->bring_home(neighbour));
    REQUIRE(node.backend->bring_home(node.home));
    REQUIRE(node.backend->set_away_cpus(kJob, {}));
    REQUIRE(node.lend(CpuSet{{3}}));
    REQUIRE(node.backend->send_away(kJob, neighbour));
    CHECK(node.machine.affinity_of(kNeighbour + 1) == CpuSet{{3}});
  }
  SECTION("a later run brings all home") { node.restart(); }
  for (pid_t tid : {kTrainer, kNeighbour}) {
    CHECK(node.machine.effective_cpus(node.machine.group_of(tid)) ==
          CpuSet{{0, 1}});
  }
  REQUIRE(node.backend->sweep({}, [&](pid_t tid) {
    return tid == kNeighbour + 1 ? std::optional(neighbour)
                                 : node.find_home()(tid);
  }));
  node.check_as_before();
  CHECK(node.machine.read(other + "/cpuset.cpus") == "0-1");
  CHECK(node.machine.group_of(kNeighbour + 1) == other);
  CHECK(node.machine.affinity_of(kNeighbour + 1) == CpuSet{{0}});
  CHECK_FALSE(node.machine.has_mark(other));
}

TEST_CASE(
    "a neighbour with a home that could not be removed gets no lent CPUs") {
  Node node;
  constexpr pid_t kNeighbour = 300;
  const std::string other = node.machine.make_task("job_7", "step_0", 1, "0-1");
  node.machine.start(kNeighbour, kNeighbour, other, CpuSet{{0, 1}});
  const Home neighbour = *node.backend->home_of({kNeighbour, 0});
  REQUIRE(node.backend->add_task(kJob, neighbour));
  REQUIRE(node.backend->set_away_cpus(kJob, CpuSet{{2}}));
  node.machine.fail("write", other + "/penstock_loader/cpuset.cpus", EBUSY);
  node.machine.fail("rmdir", other + "/penstock_home", EBUSY);
  CHECK_FALSE(node.backend->send_away(kJob, neighbour));
  node.machine.heal();
  REQUIRE(node.backend->send_away(kJob, node.home));
  CHECK(node.machine.effective_cpus(other) == CpuSet{{0, 1}});
  REQUIRE(node.backend->refresh());
  CHECK(node.machine.fs().list_dirs(other)->empty());
  CHECK(node.machine.effective_cpus(other) == CpuSet{{0, 1}});
}

TEST_CASE(
    "a group that a user made with our name is neither used nor removed") {
  if (::geteuid() != 0) {
    WARN("SKIPPED: only root may give a group to a user");
    return;
  }
  for (const char* name : {"/penstock_home", "/penstock_loader"}) {
    INFO(name);
    Node node;
    const std::string group = node.task + name;
    REQUIRE(node.machine.fs().make_dir(group));
    const auto path = node.machine.tree().path() / group.substr(1);
    REQUIRE(::chown(path.c_str(), 1000, 1000) == 0);
    const Status done = node.lend(CpuSet{{2}});
    REQUIRE_FALSE(done);
    CHECK(done.error().message.find("belongs to user 1000") !=
          std::string::npos);
    CHECK(node.machine.fs().list_dirs(node.task)->size() == 1);
    CHECK(node.machine.fs().exists(group));
    CHECK(node.machine.group_of(kTrainer) == node.task);
    CHECK(node.machine.effective_cpus(node.task) == CpuSet{{0, 1}});
  }
}
