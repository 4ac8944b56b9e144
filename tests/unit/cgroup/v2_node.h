// A node with two jobs and the v2 backend on a fake unified hierarchy.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "cgroup/v2_backend.h"
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/fake_unified.h"

namespace penstock {

inline constexpr JobId kJob = 7, kOther = 9;
inline constexpr pid_t kTrainer = 100, kLoader = 101, kLender = 200;

// Job 7 on CPUs 0-1 with a trainer and a loader thread, job 9 on 2-3.
struct Node {
  explicit Node(BackendSettings settings = {}) {
    task = machine.make_task("job_7", "step_0", 0, "0-1");
    lender_task = machine.make_task("job_9", "step_0", 0, "2-3");
    machine.start(kTrainer, kTrainer, task, CpuSet{{0, 1}});
    machine.start(kLoader, kTrainer, task, CpuSet{{1}});
    machine.start(kLender, kLender, lender_task, CpuSet{{2, 3}});
    backend.emplace(
        std::move(*V2Backend::create(machine.brokered(), machine.proc(),
                                     machine.sched(), std::move(settings))));
    home = *backend->home_of({kLoader, 0});
    REQUIRE(backend->add_task(kJob, *backend->home_of({kTrainer, 0})));
    REQUIRE(backend->add_task(kOther, *backend->home_of({kLender, 0})));
  }

  std::string scope() const { return "/system.slice/n1_slurmstepd.scope"; }
  std::string job() const { return scope() + "/job_7"; }
  std::string lender() const { return scope() + "/job_9"; }
  std::string user() const { return job() + "/step_0/user"; }

  // Lends CPUs and sends a loader thread there.
  Status lend(const CpuSet& cpus) {
    Status done = backend->set_away_cpus(kJob, cpus);
    return done ? backend->send_away(kJob, home) : done;
  }

  // Job 7's processes and its slurmstepd have ended; a group of Penstock's
  // prevented Slurm's rmdir.
  void end_job() {
    machine.end(kLoader);
    machine.end(kTrainer);
    machine.set_populated(task, false);
    machine.set_populated(job() + "/step_0", false);
  }
  void refresh(int times) {
    for (int i = 0; i < times; ++i) REQUIRE(backend->refresh());
  }
  V2Backend later_run() const {
    return std::move(*V2Backend::create(machine.brokered(), machine.proc(),
                                        machine.sched(), {}));
  }
  void restart() { backend.emplace(later_run()); }

  // Slurm's groups are in their original state, without groups of Penstock's.
  void check_as_before() {
    CHECK(machine.read(job() + "/cpuset.cpus").starts_with("0-1"));
    CHECK(machine.read(user() + "/cpuset.cpus").starts_with("0-1"));
    CHECK(machine.read(job() + "/cpu.weight").starts_with("100"));
    CHECK(machine.fs().list_dirs(task)->empty());
    CHECK(machine.read(task + "/cgroup.type") == "domain\n");
    CHECK(machine.group_of(kTrainer) == task);
    CHECK(machine.group_of(kLoader) == task);
    CHECK(machine.affinity_of(kLoader) == CpuSet{{1}});
    CHECK(machine.locking_moves() == std::vector<std::string>{});
    for (const std::string& group : {job(), user(), task, lender()}) {
      CHECK_FALSE(machine.has_mark(group));
    }
  }

  FindHome find_home() const {
    return [this](pid_t tid) {
      return tid == kLoader ? std::optional(home) : std::nullopt;
    };
  }

  FakeUnified machine;
  std::optional<V2Backend> backend;
  std::string task, lender_task;
  Home home;
};

}  // namespace penstock
