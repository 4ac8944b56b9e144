// Tests broker/rules.h: what penstockd may ask for, and what a penstockd in
// hostile hands may not.
#include "broker/rules.h"

#include <set>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

const V1Mounts kV1{{{"cpu", "cpu"},
                    {"cpuacct", "cpuacct"},
                    {"cpuset", "cpuset"},
                    {"blkio", "blkio"},
                    {"freezer", "freezer"},
                    {"memory", "memory"}}};

BrokerRules v1() { return {"penstock", kV1}; }
BrokerRules v2() { return {"penstock", {}}; }

const std::string kJob = "/slurm_n1/uid_1000/job_7";
const std::string kScope = "/system.slice/n1_slurmstepd.scope";
const std::string kTask = kScope + "/job_7/step_0/user/task_0";

// In a step of job 7, with its CPUs constrained.
const ProcCgroups kAtHome{{"freezer", kJob + "/step_0"},
                          {"cpuset", kJob + "/step_0"},
                          {"cpu", "/"},
                          {"cpuacct", kJob + "/step_0/task_0"}};
const ProcCgroups kAway{{"freezer", kJob + "/step_0"},
                        {"cpuset", "/penstock/job_7"},
                        {"cpu", "/penstock/job_7"}};
const ProcCgroups kService{{"freezer", "/"}, {"cpuset", "/"}, {"cpu", "/"}};
const ProcCgroups kInTask{{"", kTask}};

// Slurm has made groups of job 7 in these controllers.
bool slurms_groups(const std::string& group) {
  return group == "cpuset" + kJob || group == "freezer" + kJob;
}

bool v1_moves(const ProcCgroups& thread, const std::string& file) {
  return v1().may_move(thread, file, slurms_groups).ok();
}
bool v2_moves(const ProcCgroups& thread, const std::string& file) {
  return v2().may_move(thread, file, slurms_groups).ok();
}

}  // namespace

TEST_CASE("v1: groups are made and removed only below our name") {
  for (const char* ours :
       {"cpuset/penstock", "cpuset/penstock/job_7", "/cpu/penstock/job_7",
        "cpu/penstock_limit", "cpu/penstock_limit/job_7"}) {
    CHECK(v1().may_make(ours));
    CHECK(v1().may_remove(ours));
  }
  for (const char* other :
       {"", "cpuset", "cpuset/", "cpuset/other", "cpuset/penstock2",
        "cpuset/penstock/job_x", "cpuset/penstock/job_7/more",
        "cpuset/penstock/../other", "devices/penstock", "memory/penstock",
        "freezer/penstock/job_7", "cpuacct/penstock/job_7",
        "cpuset/slurm_n1/uid_1000/job_7"}) {
    CAPTURE(other);
    CHECK_FALSE(v1().may_make(other));
    CHECK_FALSE(v1().may_remove(other));
  }
}

TEST_CASE("v1: only Penstock's control files, in Penstock's groups") {
  CHECK(v1().may_write("cpuset/penstock/job_7/cpuset.cpus", "0-3,8\n"));
  CHECK(v1().may_write("cpu/penstock/cpu.idle", "1"));
  CHECK(v1().may_write("cpu/penstock_limit/job_7/cpu.cfs_quota_us", "-1"));
  CHECK(v1().may_write("blkio/penstock/job_7/blkio.throttle.read_bps_device",
                       "254:0 1000000"));

  CHECK_FALSE(v1().may_write("cpuset/penstock/job_7/tasks", "1"));
  CHECK_FALSE(v1().may_write("cpuset/penstock/release_agent", "bin/sh"));
  CHECK_FALSE(v1().may_write("cpuset/release_agent", "x"));
  CHECK_FALSE(v1().may_write("cpu/penstock/job_7/cpuset.cpus", "0"));
  CHECK_FALSE(v1().may_write("memory" + kJob + "/memory.limit_in_bytes", "1"));
  CHECK_FALSE(v1().may_write("cpuset" + kJob + "/cpuset.cpus", "0"));
  CHECK_FALSE(v1().may_write("cpuset/penstock/job_7/cpuset.cpus", "/bin/sh"));
}

TEST_CASE("v1: a thread goes to its own job's groups and back, no further") {
  CHECK(v1_moves(kAtHome, "cpuset/penstock/job_7/tasks"));
  CHECK(v1_moves(kAtHome, "cpu/penstock/job_7/tasks"));
  CHECK(v1_moves(kAtHome, "cpu/penstock_limit/job_7/cgroup.procs"));
  CHECK(v1_moves(kAway, "cpuset" + kJob + "/step_0/tasks"));
  CHECK(v1_moves(kAway, "cpuset" + kJob + "/tasks"));
  // Slurm does not use cpu for this job: its home may be anywhere but in
  // another job.
  CHECK(v1_moves(kAway, "cpu/tasks"));
  CHECK(v1_moves(kAway, "cpu/system.slice/tasks"));

  CHECK_FALSE(v1_moves(kAway, "cpu/slurm_n1/uid_1000/job_8/tasks"));
  CHECK_FALSE(v1_moves(kAtHome, "cpuset/penstock/job_8/tasks"));
  CHECK_FALSE(v1_moves(kAtHome, "cpuset/penstock/tasks"));
  // Out of the cpuset that Slurm gave.
  CHECK_FALSE(v1_moves(kAway, "cpuset/tasks"));
  CHECK_FALSE(v1_moves(kAway, "cpuset/slurm_n1/uid_1000/tasks"));
  CHECK_FALSE(v1_moves(kAway, "cpuset/slurm_n1/uid_1000/job_77/tasks"));
  CHECK_FALSE(v1_moves(kAway, "freezer/tasks"));
  CHECK_FALSE(v1_moves(kAtHome, "cpuset/penstock/job_7/cpuset.cpus"));
  // No service ever moves.
  CHECK_FALSE(v1_moves(kService, "cpuset/penstock/job_7/tasks"));
  CHECK_FALSE(v1_moves(kService, "cpuset" + kJob + "/tasks"));
  CHECK_FALSE(v1_moves({}, "cpuset/penstock/job_7/tasks"));
}

TEST_CASE("v1: a user's group that is named like a job's makes no job") {
  const std::string users = "/user.slice/uid_1000/job_7";
  CHECK_FALSE(v1().is_of_job({{"name=systemd", kJob}, {"", kJob}}));
  CHECK_FALSE(v1().is_of_job({{"freezer", users}}));
  CHECK_FALSE(v1_moves({{"name=systemd", kJob}, {"cpuset", "/"}},
                       "cpuset/penstock/job_7/tasks"));
  CHECK_FALSE(v1_moves(kAtHome, "memory/penstock/job_7/tasks"));
  CHECK_FALSE(v1_moves(kAtHome, "freezer/penstock/job_7/tasks"));
}

TEST_CASE("v2: groups are made in tasks' groups, and removed below the scope") {
  CHECK(v2().may_make(kTask + "/penstock_home"));
  CHECK(v2().may_make(kTask + "/penstock_loader"));
  CHECK(v2().may_remove(kTask + "/penstock_home"));
  CHECK(v2().may_remove(kScope + "/job_7/step_0"));

  CHECK_FALSE(v2().may_make(kTask + "/other"));
  CHECK_FALSE(v2().may_make(kTask + "/penstock_home/penstock_home"));
  CHECK_FALSE(v2().may_make(kScope + "/job_7/penstock_home"));
  CHECK_FALSE(v2().may_make("/system.slice/penstock_home"));
  CHECK_FALSE(v2().may_remove(kScope));
  CHECK_FALSE(v2().may_remove("/system.slice"));
  CHECK_FALSE(v2().may_remove(kScope + "/../ssh.service"));
}

TEST_CASE("v2: only Penstock's control files and marks, below Slurm's scope") {
  CHECK(v2().may_write(kScope + "/job_7/cpuset.cpus", "0-3"));
  CHECK(v2().may_write(kScope + "/job_7/io.max", "254:0 rbps=1000"));
  CHECK(v2().may_write(kScope + "/cgroup.subtree_control", "+io"));
  CHECK(v2().may_write(kTask + "/penstock_home/cgroup.type", "threaded"));
  CHECK(v2().may_mark(kScope + "/job_7", "penstock.cpus"));

  CHECK(v2().may_write(kTask + "/cgroup.subtree_control", "+cpuset"));
  CHECK(v2().may_write(kTask + "/cgroup.subtree_control", ""));  // a check
  CHECK(v2().may_write(kTask + "/penstock_loader/cpu.idle", "1"));
  CHECK(v2().may_write(kScope + "/job_7/cpu.max", "max 100000\n"));

  CHECK_FALSE(v2().may_write(kScope + "/cgroup.subtree_control", "-memory"));
  CHECK_FALSE(v2().may_write(kTask + "/cgroup.subtree_control", "-memory"));
  CHECK_FALSE(v2().may_write(kScope + "/job_7/cgroup.subtree_control", "-cpu"));
  CHECK_FALSE(v2().may_write(kScope + "/job_7/cgroup.type", "threaded"));
  CHECK_FALSE(v2().may_write(kScope + "/cpu.weight", "1"));
  CHECK_FALSE(v2().may_mark(kScope + "/job_7", "penstock.other"));
  CHECK_FALSE(v2().may_write(kScope + "/job_7/memory.max", "1"));
  CHECK_FALSE(v2().may_write(kScope + "/job_7/cgroup.kill", "1"));
  CHECK_FALSE(v2().may_write(kScope + "/job_7/cgroup.procs", "1"));
  CHECK_FALSE(v2().may_write("/system.slice/cpuset.cpus", "0"));
  CHECK_FALSE(v2().may_write("/cgroup.subtree_control", "-memory"));
  CHECK_FALSE(v2().may_mark(kScope + "/job_7", "other"));
  CHECK_FALSE(v2().may_mark(kScope + "/job_7", "penstock.A/b"));
  CHECK_FALSE(v2().may_mark("/system.slice", "penstock.cpus"));
  CHECK_FALSE(v1().may_mark("cpuset/penstock", "penstock.cpus"));
}

TEST_CASE("v2: a thread stays in its job") {
  CHECK(v2_moves(kInTask, kTask + "/penstock_loader/cgroup.threads"));
  CHECK(v2_moves({{"", kTask + "/penstock_loader"}}, kTask + "/cgroup.procs"));

  const std::string other = kScope + "/job_8/step_0/user/task_0";
  CHECK_FALSE(v2_moves(kInTask, other + "/cgroup.procs"));
  CHECK_FALSE(v2_moves(kInTask, "/cgroup.procs"));
  CHECK_FALSE(v2_moves(kInTask, kScope + "/cgroup.procs"));
  CHECK_FALSE(v2_moves(kInTask, kTask + "/cgroup.freeze"));
  CHECK_FALSE(
      v2_moves({{"", "/system.slice/ssh.service"}}, kTask + "/cgroup.procs"));
  CHECK_FALSE(v2_moves({}, kTask + "/cgroup.procs"));
}

TEST_CASE("affinities and policies are changed for threads of jobs alone") {
  CHECK(v1().is_of_job(kAtHome));
  CHECK(v1().is_of_job(kAway));
  CHECK_FALSE(v1().is_of_job(kService));
  CHECK_FALSE(v1().is_of_job({}));
  CHECK(v2().is_of_job(kInTask));
  CHECK_FALSE(v2().is_of_job({{"", "/system.slice/ssh.service"}}));
  CHECK_FALSE(v2().is_of_job({{"", kScope + "/job_7/step_0/slurm"}}));
}
