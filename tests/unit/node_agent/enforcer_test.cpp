#include "node_agent/enforcer.h"

#include "cgroup/v1_backend.h"
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/fake_machine.h"

using namespace penstock;

namespace {

constexpr pid_t kTask = 100;

// Job 7 has CPU 0, and a thread on CPU 3, which is lent to it.
struct Borrower {
  Borrower() {
    machine.make_slurm_group("/slurm/uid_0/job_7", "0");
    machine.start(kTask, kTask, 1);
    machine.place(kTask, "cpuset", "/slurm/uid_0/job_7");
    Task& task = job.tasks[kTask];
    task.home = *backend.home_of(TaskId{kTask, 0});
    job.id = 7;
    REQUIRE(backend.set_away_cpus(7, CpuSet{{3}}));
    REQUIRE(backend.send_away(7, task.home));
    job.grant.away_cpus = job.loan.cpus = CpuSet{{3}};
  }

  FakeMachine machine;
  V1Backend backend = *V1Backend::create(machine.fs(), machine.proc(),
                                         machine.sched(), machine.mounts(), {});
  Sampler sampler{backend, machine.proc()};
  const std::vector<int> core_of_cpu{0, 1, 2, 3};
  Enforcer enforcer{backend, machine.proc(), machine.sched(), sampler,
                    core_of_cpu};
  std::map<JobId, Job> jobs;
  Job& job = jobs[7];
};

}  // namespace

TEST_CASE("a plan without a loan takes the CPUs at once") {
  Borrower test;
  Plan plan;
  plan.grants.resize(1);
  plan.grants[0].id = 7;
  test.enforcer.apply(plan, {PlanJob{.id = 7}}, {}, test.jobs);
  CHECK(test.job.loan.cpus.empty());
  CHECK(test.machine.tree().read("cpuset/penstock/job_7/cpuset.cpus") == "0");
}
