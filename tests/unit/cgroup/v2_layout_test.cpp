#include "cgroup/v2_layout.h"

#include "tests/unit/catch.h"

using namespace penstock;

TEST_CASE("a task's groups are derived from its path") {
  const auto groups = slurm_groups_of(
      "/system.slice/n1_slurmstepd.scope/job_7/step_0/user/task_1");
  REQUIRE(groups);
  CHECK(groups->scope == "/system.slice/n1_slurmstepd.scope");
  CHECK(groups->job == groups->scope + "/job_7");
  CHECK(groups->step == groups->job + "/step_0");
  CHECK(groups->user == groups->step + "/user");
  CHECK(groups->task == groups->user + "/task_1");
}

TEST_CASE(
    "a job's directory may have any name, and the path may go below the task") {
  const auto groups = slurm_groups_of(
      "/slurmstepd.scope/s4PK1JSMR1AVS/step_batch/user/task_special/x/y");
  REQUIRE(groups);
  CHECK(groups->job == "/slurmstepd.scope/s4PK1JSMR1AVS");
  CHECK(groups->task.ends_with("/user/task_special"));
}

TEST_CASE("the scope may be at any depth") {
  for (const char* above : {"", "/system.slice/system-slurm.slice",
                            "/machine.slice/docker-1a.scope/system.slice"}) {
    CAPTURE(above);
    const std::string scope = std::string(above) + "/slurmstepd.scope";
    const auto groups = slurm_groups_of(scope + "/job_7/step_0/user/task_0");
    REQUIRE(groups);
    CHECK(groups->scope == scope);
  }
}

TEST_CASE("other paths give no task") {
  for (const char* path :
       {"", "/", "x", "/system.slice/slurmd.service",
        "/system.slice/slurmstepd.scope/job_7/step_0/slurm",
        "/system.slice/slurmstepd.scope/job_7/step_0/user",
        "/system.slice/slurmstepd.scope/system",
        "/system.slice/slurmstepd.scope/job_7/step_0/users/task_0",
        "/user.slice/job_7/step_0/user/task_0",
        "/../../system.slice/slurmstepd.scope/job_7/step_0/user/task_0",
        "system.slice/slurmstepd.scope/job_7/step_0/user/task_0"}) {
    CAPTURE(path);
    CHECK_FALSE(slurm_groups_of(path));
  }
}

TEST_CASE("figures of io.stat, io.max and cpu.stat are parsed") {
  const char* stat = "254:0 rbytes=1 wbytes=2\n254:16 rbytes=4096 wbytes=0\n";
  CHECK(io_figure(stat, "254:16", "rbytes") == 4096u);
  CHECK(io_figure(stat, "254:1", "rbytes") == std::nullopt);
  CHECK(io_figure("8:0 rbps=max wbps=9\n", "8:0", "rbps") == std::nullopt);
  CHECK(io_figure("8:0 rbps", "8:0", "rbps") == std::nullopt);
  CHECK(keyed_figure("usage_usec 12\nuser_usec 3\n", "user_usec") == 3u);
  CHECK(keyed_figure("usage_usec\n", "usage_usec") == std::nullopt);
  CHECK(keyed_figure("", "usage_usec") == std::nullopt);
}

TEST_CASE("pressure counts the time in which some thread was delayed") {
  CHECK(pressure_some_us("some avg10=98.90 avg60=0.44 avg300=8.56 total=16408\n"
                         "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n") ==
        16408u);
  for (const char* text :
       {"", "some", "some avg10=1.00\n", "full avg10=0.00 total=7\n",
        "some total=-1\n", "some total=\n", "some total=1e9\n",
        "some total=18446744073709551616\n"}) {
    CAPTURE(text);
    CHECK(pressure_some_us(text) == std::nullopt);
  }
}
