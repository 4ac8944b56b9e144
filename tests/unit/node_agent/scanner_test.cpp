#include "node_agent/scanner.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup/v1_backend.h"
#include "cgroup/v2_backend.h"
#include "common/clock.h"
#include "node_agent/sampler.h"
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/fake_machine.h"
#include "tests/unit/cgroup/fake_unified.h"

using namespace penstock;

namespace {

// A process of the task ends, and a process of another job gets its pid.
constexpr pid_t kTrainer = 100;
constexpr pid_t kWorker = 101;

struct SeparateHierarchies {
  SeparateHierarchies() {
    for (const char* job : {"7", "8"}) {
      std::string group;
      for (const std::string& name :
           {std::string("slurm_n1"), std::string("uid_5"),
            std::string("job_") + job, std::string("step_0")}) {
        group += "/" + name;
        machine.make_slurm_group(group, "0-1");
      }
    }
    start(kTrainer, "7");
    start(kWorker, "7");
  }
  void start(pid_t pid, const std::string& job) {
    machine.start(pid, pid, 1);
    for (const char* controller : {"cpuset", "freezer"}) {
      machine.place(pid, controller, "/slurm_n1/uid_5/job_" + job + "/step_0");
    }
  }

  FakeMachine machine;
  V1Backend backend = *V1Backend::create(machine.fs(), machine.proc(),
                                         machine.sched(), machine.mounts(), {});
};

struct OneHierarchy {
  OneHierarchy() {
    start(kTrainer, "7");
    start(kWorker, "7");
  }
  void start(pid_t pid, const std::string& job) {
    machine.start(pid, pid, machine.make_task("job_" + job, "step_0", 0, "0-1"),
                  CpuSet{{0, 1}});
  }

  FakeUnified machine;
  V2Backend backend =
      *V2Backend::create(machine.fs(), machine.proc(), machine.sched(), {});
};

template <typename Node>
Task task_of(const Node& node) {
  Task task;
  task.id = *node.machine.proc().identity(kTrainer);
  task.home = *node.backend.home_of(task.id);
  REQUIRE_FALSE(task.home.job_path.empty());
  return task;
}

}  // namespace

TEMPLATE_TEST_CASE(
    "a pid reused by another job's process does not belong to the task", "",
    SeparateHierarchies, OneHierarchy) {
  TestType node;
  const Scanner scanner(node.machine.proc(), node.backend);
  const Task task = task_of(node);
  CHECK(scanner.is_of_job(task, kTrainer));
  CHECK(scanner.is_of_job(task, kWorker));
  node.machine.end(kWorker);
  CHECK_FALSE(scanner.is_of_job(task, kWorker));
  node.start(kWorker, "8");
  CHECK_FALSE(scanner.is_of_job(task, kWorker));
  CHECK(scanner.is_of_job(task, kTrainer));
}

TEST_CASE("the start of a thread is compared with the clock of the samples") {
  const ProcReader proc = *ProcReader::open();
  const uint64_t before_ns = monotonic_ns();
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const TaskId id = *proc.identity(child);
  CHECK(started_since(id, before_ns));
  CHECK_FALSE(started_since(id, monotonic_ns() + 20'000'000));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

namespace {

// A trainer that has connected and registers its own thread as a loader.
struct Registering : OneHierarchy {
  Registering() {
    start(kThread, kTrainer);
    machine.set_schedstat(kThread, 5'000'000'000, 0);
    job.sampled_ns = monotonic_ns();
    job.totals.job_cpu_s = 100;
    Task& task = job.tasks[kTrainer] = task_of(*this);
    task.greeting_pids = {kTrainer};
    task.registered_tids = {kThread};
    scan();
    spend(3);
  }
  using OneHierarchy::start;
  void start(pid_t tid, pid_t pid) {
    machine.start(tid, pid, machine.make_task("job_7", "step_0", 0, "0-1"),
                  CpuSet{{0, 1}});
  }
  Task& task() { return job.tasks[kTrainer]; }
  void scan() { (void)scanner.apply(scanner.look(job, task()), job, task()); }
  // What the thread runs at home.
  void spend(uint64_t seconds) {
    run_ns += seconds * 1'000'000'000;
    machine.set_schedstat(kThread, run_ns, 0);
    for (Unit& unit : task().units) sampler.account(unit, job.totals);
  }
  void set_registered(bool is) {
    task().registered_tids = is ? std::set<int>{kThread} : std::set<int>{};
    scan();
  }

  static constexpr pid_t kThread = 102;
  Scanner scanner{machine.proc(), backend};
  Sampler sampler{backend, machine.proc()};
  Job job;
  uint64_t run_ns = 5'000'000'000;
};

}  // namespace

TEST_CASE("a thread that stops being a loader keeps its CPU time as a loader") {
  Registering f;
  REQUIRE(f.task().units.size() == 1);
  CHECK(f.job.totals.home_cpu_s == Approx(3));
  f.set_registered(false);
  CHECK(f.task().units.empty());
  CHECK(f.job.totals.home_cpu_s == Approx(3));
}

TEST_CASE("the CPU time of a thread found again within a period counts once") {
  Registering f;
  f.job.sampled_ns = 1;  // the thread is younger
  f.set_registered(false);
  f.set_registered(true);
  f.spend(1);
  CHECK(f.job.totals.home_cpu_s == Approx(4));
}

TEST_CASE(
    "a worker that proves to be a trainer loses its CPU time as a loader") {
  Registering f;
  f.task().units.front().in_order = true;
  f.set_registered(false);
  CHECK(f.job.totals.home_cpu_s == 0);
}

TEST_CASE("without process tracking by groups no pid is accepted") {
  SeparateHierarchies node;
  const Scanner scanner(node.machine.proc(), node.backend);
  Task task = task_of(node);
  task.home.job_path.clear();
  CHECK_FALSE(scanner.is_of_job(task, kWorker));
  node.machine.place(kWorker, "freezer", "/");
  CHECK_FALSE(scanner.is_of_job(task, kWorker));
}
