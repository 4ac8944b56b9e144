#include "cgroup/proc_parse.h"

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"

using namespace penstock;

namespace {

std::string captured(const std::string& file) {
  return read_fixture("proc/slurm-22.05-batch/24317/" + file);
}

}  // namespace

TEST_CASE("the cgroups of a Slurm task are parsed") {
  auto paths = parse_proc_cgroup(captured("cgroup"));
  REQUIRE(paths);
  const std::string step = "/slurm_pst0/uid_1001/job_1/step_batch";
  CHECK((*paths)["cpuset"] == step);
  CHECK((*paths)["freezer"] == step);
  CHECK((*paths)["cpuacct"] == step + "/task_0");
  CHECK((*paths)["cpu"] == "/");
  CHECK((*paths)["name=systemd"] == "/");
  CHECK((*paths)[""] == "/");
  CHECK(paths->size() == 10);
}

TEST_CASE(
    "joint controllers and colons in paths are parsed, malformed lines "
    "refused") {
  auto paths = parse_proc_cgroup("4:cpu,cpuacct:/a:b c\n0::/x");
  REQUIRE(paths);
  CHECK((*paths)["cpu"] == "/a:b c");
  CHECK((*paths)["cpuacct"] == "/a:b c");
  CHECK((*paths)[""] == "/x");
  CHECK(parse_proc_cgroup("")->empty());
  for (const char* bad :
       {"cpu:/", "x:cpu:/", "1:cpu:", "1:cpu:rel", "\n", "-1:cpu:/", "1:cpu"}) {
    CAPTURE(bad);
    CHECK(parse_proc_cgroup(bad).error().code == Code::kInvalidArgument);
  }
}

TEST_CASE("stat of a process with parentheses in its name is parsed") {
  auto stat = parse_stat(captured("stat"));
  REQUIRE(stat);
  CHECK(stat->pid == 24317);
  CHECK(stat->comm == "a) R 1 (b");
  CHECK(stat->state == 'S');
  CHECK(stat->ppid == 24313);
  CHECK(stat->threads == 2);
  CHECK(stat->starttime_ticks == 241077);
  CHECK(stat->processor == 0);
  CHECK_FALSE(stat->dead());
}

TEST_CASE("truncated or malformed stat is refused") {
  std::string good = captured("stat");
  for (size_t fields = 0; fields < 39; ++fields) {
    size_t end = good.find(") S");  // after the name, `fields` words are left
    for (size_t i = 0; i < fields; ++i) end = good.find(' ', end + 1);
    CAPTURE(fields);
    if (fields < 38) CHECK_FALSE(parse_stat(good.substr(0, end)).ok());
  }
  for (const char* bad : {"", "1", "1 (a", "1 a) S", ")1(", "x (a) S 1"}) {
    CAPTURE(bad);
    CHECK(parse_stat(bad).error().code == Code::kInvalidArgument);
  }
}

TEST_CASE("schedstat is parsed, and malformed text is refused") {
  auto stat = parse_schedstat(captured("schedstat"));
  REQUIRE(stat);
  CHECK(stat->run_ns == 233166651);
  CHECK(stat->wait_ns == 90906257);
  CHECK_FALSE(parse_schedstat("1\n").ok());
  CHECK_FALSE(parse_schedstat("1 -2 3\n").ok());
  CHECK_FALSE(parse_schedstat("99999999999999999999 1 1\n").ok());
}

TEST_CASE("status of a captured process is parsed") {
  auto status = parse_status(captured("status"));
  REQUIRE(status);
  CHECK(status->tgid == 24317);
  CHECK(status->real_uid == 1001);
  CHECK(status->ns_pids == std::vector<pid_t>{24317});
}

TEST_CASE("status with namespaces and with a name like a field is parsed") {
  auto status = parse_status(
      "Name:\tUid: 0\nTgid:\t7\nUid:\t5\t6\t5\t5\nGid:\t8\t9\t8\t8\n"
      "NSpid:\t700\t40\t7\n");
  REQUIRE(status);
  CHECK(status->real_uid == 5);
  CHECK(status->real_gid == 8);
  CHECK_FALSE(status->has_one_user);
  CHECK(parse_status("Tgid:\t7\nUid:\t5\t5\t5\t5\nGid:\t8\t8\t8\t8\n")
            ->has_one_user);
  CHECK_FALSE(parse_status("Tgid:\t7\nUid:\t5\t5\t5\t5\nGid:\t8\t8\t8\t0\n")
                  ->has_one_user);
  CHECK(status->ns_pids == std::vector<pid_t>{700, 40, 7});
  CHECK_FALSE(parse_status("Tgid:\t7\n").ok());
  CHECK_FALSE(parse_status("Tgid:\t7\nUid:\t5\t5\t5\t5\n").ok());
  CHECK_FALSE(
      parse_status("Tgid:\tx\nUid:\t1 1\nGid:\t1 1\n"
                   "Cpus_allowed_list:\t0\n"));
}

TEST_CASE("lists of process ids are parsed, and malformed ones are refused") {
  CHECK(*parse_pid_list("12\n7\n") == std::vector<pid_t>{12, 7});
  CHECK(*parse_pid_list("24318 ") == std::vector<pid_t>{24318});
  CHECK(parse_pid_list("\n")->empty());
  CHECK_FALSE(parse_pid_list("1 x").ok());
  CHECK_FALSE(parse_pid_list("-1").ok());
  CHECK_FALSE(parse_pid_list("99999999999").ok());
}
