#include "cgroup/mounts.h"

#include <unistd.h>

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"

using namespace penstock;

TEST_CASE("controllers in separate hierarchies are found") {
  auto mounts = v1_mounts_from_table(read_fixture("cgroup/v1/separate/mounts"),
                                     "/sys/fs/cgroup");
  REQUIRE(mounts);
  CHECK(mounts->path_of.size() == 6);
  CHECK(mounts->path_of["cpu"] == "cpu");
  CHECK(mounts->path_of["cpuacct"] == "cpuacct");
  CHECK_FALSE(mounts->cpu_with_cpuacct());
}

TEST_CASE("cpu and cpuacct in one hierarchy are recognized") {
  auto mounts = v1_mounts_from_table(
      read_fixture("cgroup/v1/systemd-legacy/mounts"), "/sys/fs/cgroup/");
  REQUIRE(mounts);
  CHECK(mounts->path_of["cpu"] == "cpu,cpuacct");
  CHECK(mounts->path_of["cpuacct"] == "cpu,cpuacct");
  CHECK(mounts->path_of["blkio"] == "blkio");
  CHECK(mounts->cpu_with_cpuacct());
}

TEST_CASE("only mounts below the root count") {
  std::string table = read_fixture("cgroup/v1/separate/mounts");
  auto elsewhere = v1_mounts_from_table(table, "/sys/fs/cgroup/unified");
  CHECK(elsewhere.error().code == Code::kUnavailable);
  CHECK(elsewhere.error().message.find("unified") != std::string::npos);
  CHECK_FALSE(v1_mounts_from_table(table, "/sys/fs/cg").ok());
  CHECK_FALSE(v1_mounts_from_table("", "/sys/fs/cgroup").ok());
  CHECK_FALSE(v1_mounts_from_table(
      "cgroup2 /sys/fs/cgroup cgroup2 rw,cpu,cpuset 0 0\n", "/sys/fs/cgroup"));
}

TEST_CASE("escapes and empty sources of a mount table are parsed") {
  auto entries = parse_mounts(read_fixture("cgroup/v1/systemd-legacy/mounts"));
  REQUIRE(entries);
  const MountEntry& spaced = (*entries)[entries->size() - 2];
  CHECK(spaced.source == "/dev/sdb1");
  CHECK(spaced.target == "/mnt/with space");
  CHECK(spaced.options == std::vector<std::string>{"rw", "relatime"});
  CHECK(entries->back().source.empty());
  CHECK(entries->back().target == "/mnt/nameless");
}

TEST_CASE("a malformed mount table names its line") {
  auto bad = parse_mounts("proc /proc proc rw 0 0\n\nproc /proc\n");
  CHECK(bad.error().code == Code::kInvalidArgument);
  CHECK(bad.error().message.find("line 3") != std::string::npos);
  CHECK(parse_mounts("a\\04 /\\400\\ b c 0 0").ok());  // incomplete escapes
}

TEST_CASE("libcgroup and the mount table agree on this machine") {
  auto table = v1_mounts_from_table(
      [] {
        std::ifstream in("/proc/self/mounts");
        return std::string(std::istreambuf_iterator<char>(in), {});
      }(),
      "/sys/fs/cgroup");
  auto system = v1_mounts_of_system("/sys/fs/cgroup");
  REQUIRE(table.ok() == system.ok());
  if (!table) {
    WARN("SKIPPED in part: " << table.error().message);
    return;
  }
  CHECK(table->path_of == system->path_of);
}
