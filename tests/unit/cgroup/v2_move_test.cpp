// How a task's processes are moved into its home and back.
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/v2_node.h"

using namespace penstock;

TEST_CASE("children that a process starts during a move go home too") {
  Node node;
  pid_t next = 500;
  node.machine.before_write = [&](const std::string& path) {
    if (!path.ends_with("penstock_home/cgroup.procs") || next >= 505) return;
    node.machine.start(next, next, node.task, CpuSet{{0, 1}});
    ++next;
  };
  REQUIRE(node.lend(CpuSet{{2}}));
  for (pid_t pid = 500; pid < 505; ++pid) {
    CHECK(node.machine.group_of(pid) == node.task + "/penstock_home");
  }
}

TEST_CASE("a task that starts processes without end is lent nothing") {
  Node node;
  pid_t next = 500;
  node.machine.before_write = [&](const std::string& path) {
    if (!path.ends_with("penstock_home/cgroup.procs")) return;
    node.machine.start(next, next, node.task, CpuSet{{0, 1}});
    ++next;
  };
  Status done = node.lend(CpuSet{{2}});
  for (int i = 1; i < 10; ++i) {
    CHECK(done.error().code == Code::kLimit);
    node.refresh(1);
    done = node.lend(CpuSet{{2}});
  }
  CHECK(done.error().code == Code::kUnavailable);
  CHECK(node.machine.effective_cpus(node.task) == CpuSet{{0, 1}});
}

TEST_CASE("a loan waits for the end of an exiting process") {
  Node node;
  node.machine.start(500, 500, node.task, CpuSet{{0, 1}});
  node.machine.set_exiting(500);
  Status lent = node.lend(CpuSet{{2}});
  REQUIRE_FALSE(lent);
  CHECK(lent.error().code == Code::kLimit);
  node.machine.end(500);
  node.refresh(1);
  REQUIRE(node.lend(CpuSet{{2}}));
}

TEST_CASE("a slow move is not undone") {
  Node node;
  node.machine.before_write = [&](const std::string& path) {
    if (path.ends_with("penstock_home/cgroup.procs")) ::usleep(150'000);
  };
  REQUIRE(node.lend(CpuSet{{2}}));
  CHECK(node.machine.group_of(kLoader) == node.task + "/penstock_loader");
}

namespace {

// A task with `count` more processes; each move takes 40 ms.
struct SlowTask : Node {
  explicit SlowTask(int count) {
    for (pid_t pid = 500; pid < 500 + count; ++pid) {
      machine.start(pid, pid, task, CpuSet{{0, 1}});
    }
    machine.before_write = [this](const std::string& path) {
      if (!path.ends_with("/cgroup.procs")) return;
      ++moves;
      ::usleep(40'000);
    };
  }
  Status try_once() {
    moves = 0;
    return lend(CpuSet{{2}});
  }

  bool has_cpu_controller() const {
    return machine.fs().exists(task + "/penstock_home/cpu.weight");
  }

  int moves = 0;
};

}  // namespace

TEST_CASE("processes are moved for 100 ms at a time") {
  SlowTask node(10);
  int tries = 1;
  for (Status done = node.try_once(); !done; done = node.try_once(), ++tries) {
    REQUIRE(tries < 10);
    REQUIRE(done.error().code == Code::kLimit);
    CHECK(node.moves <= 4);
    // Moved processes weigh as much as those that are not moved yet.
    CHECK_FALSE(node.has_cpu_controller());
    CHECK(node.machine.effective_cpus(node.task) == CpuSet{{0, 1}});
    // No move before the next refresh, to leave time for other work.
    CHECK(node.try_once().error().code == Code::kLimit);
    CHECK(node.moves == 0);
    node.refresh(1);
  }
  CHECK(tries > 1);
  CHECK(node.has_cpu_controller());
  CHECK(node.machine.group_of(509) == node.task + "/penstock_home");
  CHECK(node.machine.group_of(kLoader) == node.task + "/penstock_loader");
  node.machine.before_write = nullptr;
  REQUIRE(node.backend->remove_job(kJob, node.find_home()));
  node.check_as_before();
}

TEST_CASE("if processes cannot be moved within ten tries, all are moved back") {
  SlowTask node(60);
  Status done = node.try_once();
  for (int i = 1; i < 10; ++i) {
    REQUIRE(done.error().code == Code::kLimit);
    node.refresh(1);
    done = node.try_once();
  }
  CHECK(done.error().code == Code::kUnavailable);
  CHECK(node.machine.effective_cpus(node.task) == CpuSet{{0, 1}});
  // Until then nothing is tried, and the error stays the same.
  CHECK(node.try_once().error().message == done.error().message);
  CHECK(node.moves == 0);
  node.machine.before_write = nullptr;
  node.refresh(1);
  CHECK(node.machine.group_of(500) == node.task);
  CHECK(node.machine.fs().list_dirs(node.task)->empty());
  node.refresh(1);
  REQUIRE(node.lend(CpuSet{{2}}));
}

TEST_CASE("an abandoned move is undone") {
  SlowTask node(10);
  REQUIRE(node.try_once().error().code == Code::kLimit);
  node.machine.before_write = nullptr;
  SECTION("after some seconds") {
    node.refresh(12);
    CHECK(node.machine.fs().list_dirs(node.task)->empty());
    REQUIRE(node.backend->remove_job(kJob, node.find_home()));
  }
  SECTION("when the job is removed") {
    REQUIRE(node.backend->remove_job(kJob, node.find_home()));
  }
  SECTION("by a later run") {
    node.restart();
    REQUIRE(node.backend->sweep({}, node.find_home()));
  }
  CHECK(node.machine.group_of(500) == node.task);
  node.check_as_before();
}

TEST_CASE("a task that ends during a move leaves no group") {
  SlowTask node(3);
  REQUIRE(node.try_once().error().code == Code::kLimit);
  node.machine.before_write = nullptr;
  for (pid_t pid = 500; pid < 503; ++pid) node.machine.end(pid);
  node.end_job();
  node.refresh(10);
  CHECK_FALSE(node.machine.fs().exists(node.job() + "/step_0"));
}

TEST_CASE("a process with the pid of a dead one is not moved") {
  Node node;
  constexpr pid_t kShort = 150;
  node.machine.start(kShort, kShort, node.task, CpuSet{{0}});
  const auto reuse = [&](const std::string& file) {
    const bool is_first_move = file.ends_with("/cgroup.procs");
    if (!is_first_move) return;
    node.machine.before_write = nullptr;
    node.machine.end(kShort);
    node.machine.start(kShort, kShort, node.lender_task, CpuSet{{2, 3}});
  };
  SECTION("when the home is filled") {
    node.machine.before_write = reuse;
    REQUIRE(node.lend(CpuSet{{2}}));
  }
  SECTION("when the home is removed") {
    REQUIRE(node.lend(CpuSet{{2}}));
    node.machine.before_write = reuse;
  }
  REQUIRE(node.backend->remove_job(kJob, node.find_home()));
  CHECK(node.machine.group_of(kShort) == node.lender_task);
  node.check_as_before();
}

TEST_CASE("a task of more than 4096 threads is not moved") {
  Node node;
  for (int i = 0; i < 4096; ++i) {
    node.machine.start(1000 + i, kTrainer, node.task, CpuSet{{0, 1}});
  }
  Status done = node.lend(CpuSet{{2}});
  CHECK(done.error().code == Code::kUnavailable);
  CHECK_THAT(done.error().message,
             Catch::Matchers::ContainsSubstring("more than 4096 threads"));
  CHECK(node.machine.group_of(kTrainer) == node.task);
  CHECK(node.machine.fs().list_dirs(node.task)->empty());
}

TEST_CASE("affinity masks that the kernel drops during a move are set again") {
  Node node;
  node.machine.forget_masks();
  REQUIRE(node.lend(CpuSet{{2}}));
  CHECK(node.machine.affinity_of(kTrainer) == CpuSet{{0, 1}});
  REQUIRE(node.backend->bring_home(node.home));
  CHECK(node.machine.affinity_of(kLoader) == CpuSet{{1}});
  REQUIRE(node.backend->remove_job(kJob, nullptr));
  node.check_as_before();
}

TEST_CASE("a failed task is not retried at once") {
  Node node;
  node.machine.fail("mkdir", "penstock_home", EIO);
  CHECK_FALSE(node.lend(CpuSet{{2}}));
  node.machine.heal();
  CHECK(node.lend(CpuSet{{2}}).error().code == Code::kUnavailable);
  for (int i = 0; i < 2; ++i) REQUIRE(node.backend->refresh());
  REQUIRE(node.lend(CpuSet{{2}}));
}

// A container runtime that runs as root inside a job makes such a group.
TEST_CASE("a process in a group below its task's stays there and is reported") {
  Node node;
  const std::string group = node.task + "/container";
  REQUIRE(node.machine.fs().make_dir(group));
  node.machine.start(400, 400, group, CpuSet{{0, 1}});
  node.machine.start(401, 400, group, CpuSet{{0, 1}});
  REQUIRE(node.backend->set_away_cpus(kJob, CpuSet{{2}}));
  for (pid_t tid : {400, 401}) {
    const Home home = *node.backend->home_of({tid, 0});
    const Status done = node.backend->send_away(kJob, home);
    REQUIRE(done.error().code == Code::kUnavailable);
    // The same message for each, so that it is logged once.
    CHECK(done.error().message ==
          "its group is " + group +
              ", not that of a Slurm task: the creator of the group, such as "
              "a container runtime of root, should leave processes in the "
              "groups where Slurm put them");
    CHECK(node.machine.group_of(tid) == group);
  }
  CHECK(node.machine.effective_cpus(node.task) == CpuSet{{0, 1}});
}
