#include "tests/unit/catch.h"
#include "tests/unit/cgroup/v2_node.h"

using namespace penstock;

namespace {

// The error is one line with its remedy, and the job is unchanged.
void check_refused(Node& node, const Status& added, const char* remedy) {
  REQUIRE_FALSE(added);
  CHECK(added.error().code == Code::kUnavailable);
  CHECK_THAT(added.error().message, Catch::Matchers::ContainsSubstring(remedy));
  CHECK(added.error().message.find('\n') == std::string::npos);
  REQUIRE(node.backend->refresh());
  node.check_as_before();
}

}  // namespace

TEST_CASE("a loader thread is lent a CPU and comes home") {
  Node node;
  CHECK(node.home.job_path == node.job());
  REQUIRE(node.backend->set_away_cpus(kJob, CpuSet{{2}}));
  CHECK(node.machine.fs()
            .list_dirs(node.task)
            ->empty());  // no thread has gone yet
  REQUIRE(node.backend->send_away(kJob, node.home));
  CHECK(node.machine.group_of(kTrainer) == node.task + "/penstock_home");
  CHECK(node.machine.effective_cpus(node.task + "/penstock_home") ==
        CpuSet{{0, 1}});
  CHECK(node.machine.effective_cpus(node.task + "/penstock_loader") ==
        CpuSet{{2}});
  CHECK(node.machine.read(node.task + "/penstock_loader/cpu.idle") == "1");
  CHECK(node.machine.affinity_of(kLoader) == CpuSet{{2}});
  CHECK(*node.backend->away_threads(kJob) == std::set<pid_t>{kLoader});
  CHECK(node.backend->home_of({kLoader, 0}).error().code ==
        Code::kInvalidArgument);
  // A thread at home has Slurm's group as its home, not the one below it.
  CHECK(node.backend->home_of({kTrainer, 0})->cpuset_path == node.task);
  REQUIRE(node.backend->bring_home(node.home));
  CHECK(node.machine.affinity_of(kLoader) == CpuSet{{1}});
  CHECK(node.machine.group_of(kLoader) == node.task + "/penstock_home");
  REQUIRE(node.backend->remove_job(kJob, nullptr));
  node.check_as_before();
}

TEST_CASE("a borrower weighs less than its lender, but only during a loan") {
  Node node;
  REQUIRE(node.backend->set_away_cpus(kJob, CpuSet{{2}}));
  CHECK(node.machine.read(node.job() + "/cpu.weight") == "100\n");
  REQUIRE(node.backend->send_away(kJob, node.home));
  CHECK(node.machine.read(node.job() + "/cpu.weight") == "10");
  CHECK(node.machine.read(node.lender() + "/cpu.weight") == "100\n");
  // On its own CPUs it has its full weight again.
  REQUIRE(node.backend->set_away_cpus(kJob, CpuSet{{0, 1}}));
  CHECK(node.machine.read(node.job() + "/cpu.weight") == "100");
  REQUIRE(node.lend(CpuSet{{2}}));
  REQUIRE(node.backend->set_away_cpus(kJob, CpuSet{}));
  CHECK(node.machine.read(node.job() + "/cpu.weight") == "100");
  CHECK(node.machine.read(node.job() + "/cpuset.cpus") == "0-1");
  CHECK(node.machine.effective_cpus(node.task) == CpuSet{{0, 1}});
  REQUIRE(node.backend->remove_job(kJob, node.find_home()));
  node.check_as_before();
}

TEST_CASE("a guest weighs least, on its own CPUs too, and can be held back") {
  Node node;
  const std::string loader = node.task + "/penstock_loader";
  REQUIRE(node.backend->give_way(kJob));
  CHECK(node.machine.read(node.job() + "/cpu.weight") == "100\n");
  REQUIRE(node.backend->hold_back(kJob, true));
  REQUIRE(node.lend(CpuSet{{0}}));
  CHECK(node.machine.read(node.job() + "/cpu.weight") == "1");
  CHECK(node.machine.read(loader + "/cpu.max") == "1000 10000");
  REQUIRE(node.backend->set_away_cpus(kJob, CpuSet{{2}}));
  REQUIRE(node.backend->hold_back(kJob, false));
  CHECK(node.machine.read(node.job() + "/cpu.weight") == "1");
  CHECK(node.machine.read(loader + "/cpu.max") == "max 10000");
  REQUIRE(node.backend->remove_job(kJob, node.find_home()));
  node.check_as_before();
  CHECK(node.backend->hold_back(55, true).error().code == Code::kUnavailable);
}

TEST_CASE("without yielding no weight changes") {
  Node node(BackendSettings{"penstock", false});
  REQUIRE(node.lend(CpuSet{{2}}));
  CHECK(node.machine.read(node.job() + "/cpu.weight") == "100\n");
  CHECK(node.machine.read(node.task + "/penstock_loader/cpu.idle") == "0\n");
}

TEST_CASE("a loan yields to every job with its own CPUs from Slurm") {
  Node node;
  const Home borrower = *node.backend->home_of({kTrainer, 0});
  const Home lender = *node.backend->home_of({kLender, 0});
  CHECK(node.backend->yields_to(borrower, lender.cpu_path));
  CHECK(node.backend->yields_to(borrower, "/user.slice").error().code ==
        Code::kNotFound);
  // Without ConstrainCores no job has its own CPUs.
  for (const std::string& group :
       {node.lender(), node.lender() + "/step_0/user"}) {
    node.machine.tree().write(group.substr(1) + "/cpuset.cpus", "\n");
  }
  CHECK(node.backend->yields_to(borrower, lender.cpu_path).error().code ==
        Code::kNotFound);
  CHECK(node.backend->add_task(kOther, lender).error().code ==
        Code::kUnavailable);
}

TEST_CASE("lent CPUs may change while a thread is away") {
  Node node;
  REQUIRE(node.lend(CpuSet{{2}}));
  REQUIRE(node.backend->set_away_cpus(kJob, CpuSet{{3}}));
  CHECK(node.machine.effective_cpus(node.task + "/penstock_loader") ==
        CpuSet{{3}});
  CHECK(node.machine.read(node.job() + "/cpuset.cpus") == "0-1,3");
  CHECK(*node.backend->slurm_cpus() == CpuSet{{0, 1, 2, 3}});
  REQUIRE(node.backend->remove_job(kJob, node.find_home()));
  node.check_as_before();
}

TEST_CASE(
    "values that Slurm overwrites are set again, and Slurm's are recorded") {
  Node node;
  REQUIRE(node.lend(CpuSet{{3}}));
  const std::string file = node.job() + "/cpuset.cpus";
  REQUIRE(node.machine.fs().write_file(file, "0-1"));  // a new step
  REQUIRE(node.backend->refresh());
  CHECK(node.machine.read(file) == "0-1,3");
  REQUIRE(node.machine.fs().write_file(file, "0-2"));  // the job was resized
  REQUIRE(node.backend->refresh());
  CHECK(node.machine.read(file) == "0-3");
  REQUIRE(node.backend->remove_job(kJob, nullptr));
  CHECK(node.machine.read(file) == "0-2");
}

TEST_CASE("overwritten values are back after one refresh") {
  Node node;
  REQUIRE(node.lend(CpuSet{{3}}));
  REQUIRE(node.backend->set_io_limit(kJob, "254:16", 4096));
  const auto overwrite = [&](const std::string& file, const char* text) {
    REQUIRE(node.machine.fs().write_file(file, text));
  };
  SECTION("the cpusets of the job and of its users' processes") {
    overwrite(node.job() + "/cpuset.cpus", "0-1");
    overwrite(node.user() + "/cpuset.cpus", "0-1");
  }
  SECTION("the borrower's weight") {
    overwrite(node.job() + "/cpu.weight", "200");
  }
  SECTION("the limit of I/O") {
    overwrite(node.job() + "/io.max", "254:16 rbps=max");
  }
  SECTION("io in Slurm's scope, and with it the limit") {
    overwrite(node.scope() + "/cgroup.subtree_control", "-io");
    REQUIRE_FALSE(node.machine.fs().exists(node.job() + "/io.max"));
  }
  REQUIRE(node.backend->refresh());
  CHECK(node.machine.read(node.job() + "/cpuset.cpus") == "0-1,3");
  CHECK(node.machine.read(node.user() + "/cpuset.cpus") == "0-1,3");
  CHECK(node.machine.read(node.job() + "/cpu.weight") == "10");
  CHECK(node.machine.read(node.job() + "/io.max") == "254:16 rbps=4096");
  REQUIRE(node.backend->remove_job(kJob, node.find_home()));
  CHECK(node.machine.read(node.job() + "/cpuset.cpus") == "0-1");
}

TEST_CASE("a failed step of a loan leaves everything unchanged") {
  for (const auto& [operation, where] :
       {std::pair{"mkdir", "penstock_home"},
        {"mkdir", "penstock_loader"},
        {"write", "penstock_home/cgroup.type"},
        {"write", "penstock_loader/cgroup.type"},
        {"write", "task_0/cgroup.subtree_control"},
        {"write", "penstock_home/cpuset.cpus"},
        {"write", "penstock_loader/cpu.idle"},
        {"mark", "job_7"},
        {"write", "user/cpuset.cpus"},
        {"write", "penstock_loader/cpuset.cpus"}}) {
    CAPTURE(operation, where);
    Node node;
    node.machine.fail(operation, where, EIO);
    CHECK_FALSE(node.lend(CpuSet{{2}}));
    CHECK(node.machine.effective_cpus(node.machine.group_of(kTrainer)) ==
          CpuSet{{0, 1}});
    node.machine.heal();
    REQUIRE(node.backend->remove_job(kJob, nullptr));
    node.check_as_before();
  }
}

TEST_CASE("a thread that cannot go away stays home") {
  Node node;
  CHECK(node.backend->send_away(kJob, node.home).error().code ==
        Code::kUnavailable);  // nothing is lent
  REQUIRE(node.backend->set_away_cpus(kJob, CpuSet{{2}}));
  node.machine.fail("write", "penstock_loader/cgroup.threads", EPERM);
  CHECK_FALSE(node.backend->send_away(kJob, node.home));
  CHECK(node.machine.group_of(kLoader) == node.task + "/penstock_home");
  CHECK(node.machine.affinity_of(kLoader) == CpuSet{{1}});
  CHECK(node.backend->send_away(kJob, Home{}).error().code ==
        Code::kNotFound);  // no such thread
}

TEST_CASE("a later run restores the changes of a killed one") {
  Node node;
  REQUIRE(node.lend(CpuSet{{2, 3}}));
  node.restart();
  REQUIRE(node.backend->sweep({kJob},
                              node.find_home()));  // a living job is kept
  CHECK(node.machine.group_of(kLoader) == node.task + "/penstock_loader");
  REQUIRE(node.backend->sweep({}, node.find_home()));
  node.check_as_before();
}

TEST_CASE("a later run keeps a cpuset that Slurm has rewritten") {
  Node node;
  REQUIRE(node.lend(CpuSet{{2}}));
  REQUIRE(node.machine.fs().write_file(node.job() + "/cpuset.cpus", "1"));
  node.restart();
  REQUIRE(node.backend->sweep({}, nullptr));
  CHECK(node.machine.read(node.job() + "/cpuset.cpus") == "1");
  CHECK(node.machine.read(node.user() + "/cpuset.cpus") == "0-1");
}

TEST_CASE("each kind of task without loans has its own error and remedy") {
  Node node;
  Home home = node.home;
  SECTION("in no group of Slurm") {
    home.cpuset_path = "/user.slice";
    check_refused(node, node.backend->add_task(1, home), "proctrack/cgroup");
    // Reported once: later requests for the job fail without the remedy.
    CHECK(node.backend->set_io_limit(1, "254:16", 1).error().code ==
          Code::kNotFound);
    CHECK(node.backend->attach_io(1, node.home).error().code ==
          Code::kNotFound);
    CHECK(node.backend->set_away_cpus(1, CpuSet{{2}}).error().code ==
          Code::kUnavailable);
  }
  SECTION("outside of penstockd's cgroup namespace") {
    home.cpuset_path = "/../.." + node.task;
    check_refused(node, node.backend->add_task(1, home), "namespace");
  }
  SECTION("without cpuset, or without cpu") {
    const auto [has, lacks] =
        GENERATE(std::pair{"cpu io", "cpuset"}, std::pair{"cpuset io", "cpu"});
    node.machine.tree().write(node.task.substr(1) + "/cgroup.controllers", has);
    check_refused(node, node.backend->add_task(1, home), lacks);
    CHECK(node.backend->set_io_limit(1, "254:16", 4096));
    CHECK(node.backend->clear_io_limit(1, "254:16"));
    CHECK_FALSE(node.backend->send_away(1, home));
    REQUIRE(node.backend->remove_job(1, nullptr));
    node.check_as_before();
  }
  SECTION("read-only") {
    node.machine.fail("access", "task_0", EROFS);
    check_refused(node, node.backend->add_task(1, home), "read-write");
  }
}

TEST_CASE(
    "a unified hierarchy without cpu or cpuset is an error with its remedy") {
  // Hybrid: one or both are mounted as v1.
  Node node;
  const auto [has, lacks] = GENERATE(std::pair{"memory pids\n", "cpu"},
                                     std::pair{"cpu memory\n", "cpuset"});
  node.machine.tree().write("cgroup.controllers", has);
  const auto backend = V2Backend::create(
      node.machine.brokered(), node.machine.proc(), node.machine.sched(), {});
  CHECK(backend.error().code == Code::kUnavailable);
  CHECK_THAT(backend.error().message,
             Catch::Matchers::ContainsSubstring(std::string("controller ") +
                                                lacks + ": boot with"));
}

TEST_CASE("read-only control groups leave jobs unchanged") {
  Node node;
  REQUIRE(node.backend->set_away_cpus(kJob, CpuSet{{2}}));
  for (const char* operation : {"write", "mkdir", "rmdir", "mark"}) {
    node.machine.fail(operation, "", EROFS);
  }
  const Status first = node.backend->send_away(kJob, node.home);
  REQUIRE_FALSE(first);
  for (int i = 0; i < 20; ++i) {
    CHECK(node.backend->send_away(kJob, node.home).error().message ==
          first.error().message);
    REQUIRE(node.backend->refresh());
  }
  node.machine.heal();
  node.check_as_before();
}

TEST_CASE("CPU time is read from the job's group") {
  Node node;
  const auto groups =
      node.backend->job_groups_of(*node.machine.proc().cgroups(kTrainer));
  CHECK(groups.accounted == node.job());
  CHECK(*node.backend->cpu_usage_ns(groups.accounted) == 7000);
  CHECK_FALSE(node.backend->cpu_usage_ns("/none"));
}

TEST_CASE("a failed change of a loan preserves Slurm's settings") {
  for (const char* where : {"user/cpuset.cpus", "job_7/cpuset.cpus"}) {
    for (const bool killed : {false, true}) {
      CAPTURE(where, killed);
      Node node;
      REQUIRE(node.lend(CpuSet{{2}}));
      node.machine.fail("write", where, EIO);
      CHECK_FALSE(node.backend->set_away_cpus(kJob, CpuSet{{2, 3}}));
      node.machine.heal();
      if (killed) {
        node.restart();
        REQUIRE(node.backend->sweep({}, node.find_home()));
      } else {
        REQUIRE(node.backend->remove_job(kJob, node.find_home()));
      }
      node.check_as_before();
    }
  }
}

TEST_CASE(
    "an away thread comes home to its own task even with a wrong record") {
  Node node;
  const std::string other = node.machine.make_task("job_7", "step_1", 0, "0");
  REQUIRE(node.lend(CpuSet{{2}}));
  Home wrong = node.home;
  wrong.cpuset_path = other;
  REQUIRE(node.backend->bring_home(wrong));
  CHECK(node.machine.group_of(kLoader) == node.task + "/penstock_home");
}

TEST_CASE(
    "lent CPUs are withdrawn if another program removed Penstock's groups") {
  Node node;
  REQUIRE(node.lend(CpuSet{{2}}));
  REQUIRE(node.machine.fs().write_file(node.task + "/cgroup.procs", "100"));
  for (const char* group : {"/penstock_loader", "/penstock_home"}) {
    REQUIRE(node.machine.fs().remove_dir(node.task + group));
  }
  REQUIRE(node.backend->refresh());
  CHECK(node.machine.effective_cpus(node.task) == CpuSet{{0, 1}});
}

TEST_CASE(
    "Slurm's scope is found at any depth, and job directories of any name") {
  const bool in_slices = GENERATE(true, false);
  CAPTURE(in_slices);
  Node node;
  node.machine.set_scope(
      in_slices ? std::vector<std::string>{"system.slice", "gpu.slice",
                                           "slurmstepd.scope"}
                : std::vector<std::string>{"docker", "1a2b", "system.slice",
                                           "slurmstepd.scope"});
  const std::string task =
      node.machine.make_task("s4PK1JSMR1AVS", "step_0", 0, "1");
  node.machine.start(300, 300, task, CpuSet{{1}});
  if (in_slices) {  // found before one of its tasks is announced
    node.machine.tree().write(node.job().substr(1) + "/cpuset.cpus", "0\n");
    CHECK(*node.backend->slurm_cpus() == CpuSet{{0, 1, 2, 3}});
  }
  const Home home = *node.backend->home_of({300, 0});
  REQUIRE(node.backend->add_task(11, home));
  CHECK(*node.backend->slurm_cpus() == CpuSet{{0, 1, 2, 3}});
  REQUIRE(node.backend->set_away_cpus(11, CpuSet{{3}}));
  REQUIRE(node.backend->send_away(11, home));
  CHECK(node.machine.affinity_of(300) == CpuSet{{3}});
  REQUIRE(node.backend->set_io_limit(11, "254:16", 4096));
  node.restart();
  REQUIRE(node.backend->sweep({}, nullptr));
  CHECK(node.machine.group_of(300) == task);
  CHECK(node.machine.fs().list_dirs(task)->empty());
}

TEST_CASE("CPUs of Slurm's jobs that cannot be read are unknown, not free") {
  Node node;
  const Result<CpuSet> all = node.backend->slurm_cpus();
  REQUIRE(all);
  REQUIRE_FALSE(all->empty());
  const std::pair<const char*, std::string> reads[] = {
      {"list", node.scope()},
      {"list", node.job()},
      {"read", node.job() + "/cpuset.cpus"}};
  for (const auto& [operation, where] : reads) {
    CAPTURE(operation, where);
    node.machine.fail(operation, where.c_str(), EIO);
    CHECK_FALSE(node.backend->slurm_cpus());
    node.machine.heal();
    node.machine.fail(operation, where.c_str(), ENOENT);
    CHECK(node.backend->slurm_cpus());
    node.machine.heal();
  }
}

TEST_CASE(
    "a sweep that cannot read what is marked reports it, and is done later") {
  const std::pair<const char*, const char*> reads[] = {
      {"list", "slurmstepd.scope"}, {"read mark", "job_7"}};
  for (const auto& [operation, where] : reads) {
    CAPTURE(operation, where);
    Node node;
    REQUIRE(node.backend->set_away_cpus(kJob, CpuSet{{2}}));
    REQUIRE(node.backend->send_away(kJob, node.home));
    node.machine.fail(operation, where, EIO);
    Status swept = node.backend->sweep({}, node.find_home());
    REQUIRE_FALSE(swept);
    CHECK(swept.error().saved_errno == EIO);
    node.machine.heal();
    REQUIRE(node.backend->sweep({}, node.find_home()));
    node.check_as_before();
  }
}
