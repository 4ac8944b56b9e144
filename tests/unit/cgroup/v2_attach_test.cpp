// Moves of processes without the lock of their memory.
#include "cgroup/v2_attach.h"

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/v2_node.h"

using namespace penstock;

namespace {

constexpr pid_t kWorker = 300;

const std::vector<std::string> kNone;

// A node whose job 7 has a worker process, too.
struct WorkerNode : Node {
  WorkerNode() {
    machine.start(kWorker, kWorker, task, CpuSet{{0}});
    machine.start(kWorker + 1, kWorker, task, CpuSet{{0}});
    worker = *backend->home_of({kWorker, 0});
  }
  std::string loader_group() const { return task + "/penstock_loader"; }
  std::string home_group() const { return task + "/penstock_home"; }
  CpuSet lent() const { return machine.effective_cpus(loader_group()); }
  Status send_worker(const CpuSet& cpus) {
    Status done = backend->set_away_cpus(kJob, cpus);
    return done ? backend->send_away(kJob, worker) : done;
  }

  Home worker;
};

}  // namespace

TEST_CASE("a worker goes away and comes home without the lock") {
  WorkerNode node;
  REQUIRE(node.send_worker(CpuSet{{2, 3}}));
  CHECK(node.machine.group_of(kWorker) == node.loader_group());
  CHECK(node.machine.affinity_of(kWorker) == CpuSet{{2, 3}});
  CHECK(node.lent() == CpuSet{{2, 3}});
  REQUIRE(node.backend->bring_home(node.worker));
  REQUIRE(node.backend->bring_home(node.worker));
  CHECK(node.machine.group_of(kWorker) == node.home_group());
  CHECK(node.machine.affinity_of(kWorker) == CpuSet{{0}});
  CHECK(node.lent() == CpuSet{{2, 3}});
  CHECK(node.machine.locking_moves() == kNone);
}

TEST_CASE("an away worker's job is removed without the lock") {
  WorkerNode node;
  REQUIRE(node.send_worker(CpuSet{{2}}));
  SECTION("by this run") {
    REQUIRE(node.backend->remove_job(kJob, node.find_home()));
  }
  SECTION("by a later run") {
    node.restart();
    REQUIRE(node.backend->sweep({}, node.find_home()));
  }
  SECTION("by a later run, with more threads than it brings home one by one") {
    node.machine.fail("write", "cgroup.threads", EIO);
    REQUIRE(node.backend->remove_job(kJob, node.find_home()));
  }
  SECTION("after Slurm gave the job another CPU") {
    for (const std::string& group : {node.job(), node.user()}) {
      node.machine.tree().write(group.substr(1) + "/cpuset.cpus", "0-1,3\n");
    }
    REQUIRE(node.backend->remove_job(kJob, node.find_home()));
  }
  CHECK(node.machine.group_of(kWorker) == node.task);
  node.machine.end(kWorker + 1);
  node.machine.end(kWorker);
  node.check_as_before();
}

TEST_CASE("a task beside one with a loan is prepared without the lock") {
  WorkerNode node;
  const std::string other = node.machine.make_task("job_7", "step_0", 1, "0-1");
  constexpr pid_t kSecond = 400;
  node.machine.start(kSecond, kSecond, other, CpuSet{{0, 1}});
  const Home second = *node.backend->home_of({kSecond, 0});
  REQUIRE(node.backend->add_task(kJob, second));
  REQUIRE(node.send_worker(CpuSet{{2}}));
  REQUIRE(node.backend->send_away(kJob, second));
  CHECK(node.machine.group_of(kSecond) == other + "/penstock_loader");
  REQUIRE(node.backend->remove_job(kJob, node.find_home()));
  CHECK(node.machine.locking_moves() == kNone);
}

TEST_CASE("a step whose job has a loan is prepared without the lock") {
  WorkerNode node;
  REQUIRE(node.send_worker(CpuSet{{2}}));
  // Slurm has set CPUs at the job only, where the loan has widened them.
  const std::string other = node.machine.make_task("job_7", "step_1", 0, "0-1");
  node.machine.tree().write((node.job() + "/step_1/user/cpuset.cpus").substr(1),
                            "\n");
  constexpr pid_t kSecond = 400;
  node.machine.start(kSecond, kSecond, other, CpuSet{{0, 1}});
  const Home second = *node.backend->home_of({kSecond, 0});
  REQUIRE(node.backend->add_task(kJob, second));
  REQUIRE(node.machine.effective_cpus(other) != CpuSet{{0, 1}});
  REQUIRE(node.backend->send_away(kJob, second));
  REQUIRE(node.backend->remove_job(kJob, node.find_home()));
  CHECK(node.machine.locking_moves() == kNone);
}

TEST_CASE("only a process's main thread needs equal CPUs") {
  WorkerNode node;
  REQUIRE(node.send_worker(CpuSet{{2}}));
  int writes = 0;
  node.machine.before_write = [&](const std::string& path) {
    if (path == node.loader_group() + "/cpuset.cpus") ++writes;
  };
  REQUIRE(node.backend->send_away(kJob, node.home));
  REQUIRE(node.backend->bring_home(node.home));
  CHECK(writes == 0);
  REQUIRE(node.backend->bring_home(node.worker));
  CHECK(writes == 2);
}

TEST_CASE("after a failed move the loader group has its CPUs again") {
  WorkerNode node;
  REQUIRE(node.send_worker(CpuSet{{2}}));
  node.machine.fail("write", "penstock_home/cgroup.threads", EIO);
  CHECK(node.backend->bring_home(node.worker).error().saved_errno == EIO);
  CHECK(node.lent() == CpuSet{{2}});
  CHECK(node.machine.group_of(kWorker) == node.loader_group());
}

TEST_CASE("where every move takes the lock, no task is lent CPUs") {
  Node node;
  node.backend.emplace(std::move(
      *V2Backend::create(node.machine.fs(), node.machine.proc(),
                         node.machine.sched(), {.every_attach_locks = true})));
  const Status known = node.backend->add_task(kJob, node.home);
  CHECK(known.error().code == Code::kUnavailable);
  CHECK_THAT(known.error().message,
             Catch::Matchers::ContainsSubstring("boot Linux 6.2 or later"));
  CHECK_FALSE(node.lend(CpuSet{{2}}));
  CHECK(node.machine.fs().list_dirs(node.task)->empty());
}
