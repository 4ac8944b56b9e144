#include "cgroup/mounts.h"

#include <algorithm>

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"

using namespace penstock;

TEST_CASE("cpu and cpuacct in one hierarchy are recognized") {
  CHECK_FALSE(
      V1Mounts{{{"cpu", "cpu"}, {"cpuacct", "cpuacct"}}}.cpu_with_cpuacct());
  CHECK(V1Mounts{{{"cpu", "cpu,cpuacct"}, {"cpuacct", "cpu,cpuacct"}}}
            .cpu_with_cpuacct());
  CHECK_FALSE(V1Mounts{{{"cpu", "cpu"}}}.cpu_with_cpuacct());
}

TEST_CASE("only groups below the root count") {
  auto entries = parse_mounts(read_fixture("cgroup/v1/separate/mounts"));
  REQUIRE(entries);
  CHECK(std::count_if(entries->begin(), entries->end(), [](const auto& it) {
          return it.type == "cgroup" &&
                 mount_below(it.target, "/sys/fs/cgroup");
        }) == 9);
  CHECK(mount_below("/sys/fs/cgroup/cpu", "/sys/fs/cgroup") == "cpu");
  CHECK(mount_below("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/") == "cpu");
  for (const char* root :
       {"/sys/fs/cgroup/unified", "/sys/fs/cg", "/sys/fs/cgroup/cpu"}) {
    CHECK_FALSE(mount_below("/sys/fs/cgroup/cpu", root));
  }
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
  std::ifstream in("/proc/self/mounts");
  auto table =
      parse_mounts(std::string(std::istreambuf_iterator<char>(in), {}));
  REQUIRE(table);
  auto system = v1_mounts_of_system("/sys/fs/cgroup");
  if (!system) {
    WARN("SKIPPED in part: " << system.error().message);
    return;
  }
  for (const auto& [controller, path] : system->path_of) {
    CHECK(std::any_of(table->begin(), table->end(), [&](const MountEntry& it) {
      return it.type == "cgroup" && it.target == "/sys/fs/cgroup/" + path;
    }));
  }
}
