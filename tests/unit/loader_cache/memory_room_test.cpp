// Free memory of a process's cgroups, from their files.
#include "loader/data/memory_room.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/catch.h"
#include "tests/unit/loader_cache/cache_case.h"

using namespace penstock;
using namespace penstock::test;

namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr const char* kV1NoLimit = "9223372036854771712";

// A group's figures in MiB.
struct Figures {
  std::string limit;
  uint64_t used = 0;
  uint64_t files = 0;  // of it, tmpfs included
  uint64_t tmpfs = 0;
};

std::string mib(uint64_t count) { return std::to_string(count * kMiB); }

class FakeRoot : public CacheCase {
 public:
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = base() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void add_v1(const std::string& group, const Figures& figures) const {
    const std::string folder = "/sys/fs/cgroup/memory" + group;
    write(folder + "/memory.limit_in_bytes", figures.limit + "\n");
    write(folder + "/memory.usage_in_bytes", mib(figures.used) + "\n");
    // The group's own figures come first but do not count: the total_ ones do.
    write(folder + "/memory.stat",
          "cache 1\nrss 2\nshmem 3\ntotal_cache " + mib(figures.files) +
              "\ntotal_rss 7\ntotal_shmem " + mib(figures.tmpfs) + "\n");
  }
  void add_v2(const std::string& group, const Figures& figures) const {
    const std::string folder = "/sys/fs/cgroup" + group;
    write(folder + "/memory.max", figures.limit + "\n");
    write(folder + "/memory.current", mib(figures.used) + "\n");
    write(folder + "/memory.stat",
          "anon 1\nfile " + mib(figures.files) + "\nkernel 5\nshmem " +
              mib(figures.tmpfs) + "\nfile_mapped 9\n");
  }
  void be_in(const std::string& lines) const {
    write("/proc/self/cgroup", lines);
  }
  // In MiB; 0: no limit.
  MemoryRoom room() const {
    const auto room = group_memory(base()).value_or(MemoryRoom());
    return {room.limit_bytes / kMiB, room.left_bytes / kMiB};
  }
};

}  // namespace

TEST_CASE("v1: a group's free memory excludes programs and tmpfs") {
  const FakeRoot root;
  root.be_in("5:cpu:/a\n4:memory:/job\n0::/\n");
  root.add_v1("/job", {mib(1000), 700, 500, 200});
  CHECK(root.room().limit_bytes == 1000);
  CHECK(root.room().left_bytes == 600);  // 300 of the files are reclaimable
}

TEST_CASE("v2: a group's free memory excludes programs and tmpfs") {
  const FakeRoot root;
  root.be_in("0::/slurm/job_1/step_0\n");
  root.add_v2("/slurm/job_1/step_0", {mib(1000), 700, 500, 200});
  CHECK(root.room().limit_bytes == 1000);
  CHECK(root.room().left_bytes == 600);
}

TEST_CASE("memory of a tmpfs does not count as reclaimable") {
  const FakeRoot root;
  root.be_in("0::/job\n");
  root.add_v2("/job", {mib(1000), 900, 900, 900});
  CHECK(root.room().left_bytes == 100);
  root.add_v2("/job", {mib(1000), 900, 900,
                       950});  // the kernel's figures are not consistent
  CHECK(root.room().left_bytes == 100);
}

TEST_CASE("of nested groups the one with the least free memory counts") {
  const FakeRoot root;
  SECTION("v1") {
    root.be_in("4:memory:/slurm/job/step\n");
    root.add_v1("/slurm/job/step", {kV1NoLimit, 10, 0, 0});
    root.add_v1("/slurm/job", {mib(500), 100, 0, 0});
    root.add_v1("/slurm", {mib(2000), 1700, 0, 0});
    root.add_v1("", {kV1NoLimit, 5000, 0, 0});
  }
  SECTION("v2") {
    root.be_in("0::/slurm/job/step\n");
    root.add_v2("/slurm/job/step", {"max", 10, 0, 0});
    root.add_v2("/slurm/job", {mib(500), 100, 0, 0});
    root.add_v2("/slurm", {mib(2000), 1700, 0, 0});
  }
  CHECK(root.room().limit_bytes == 2000);
  CHECK(root.room().left_bytes == 300);
}

TEST_CASE("in a namespace the mounted group counts") {
  const FakeRoot root;
  root.be_in("4:memory:/docker/not-seen-from-in-here\n");
  root.add_v1("", {mib(100), 40, 0, 0});
  CHECK(root.room().left_bytes == 60);
}

TEST_CASE("in the root group the mount's files count") {
  const FakeRoot root;
  root.be_in("0::/\n");
  root.add_v2("", {mib(100), 40, 0, 0});
  CHECK(root.room().left_bytes == 60);
}

TEST_CASE(
    "with v1 and v2 side by side the one with the memory controller counts") {
  const FakeRoot root;
  root.be_in("4:memory:/job\n0::/other\n");
  root.add_v1("/job", {mib(100), 40, 0, 0});
  std::filesystem::create_directories(root.base() + "/sys/fs/cgroup/other");
  CHECK(root.room().left_bytes == 60);
}

TEST_CASE("usage beyond the limit leaves no memory") {
  const FakeRoot root;
  root.be_in("0::/job\n");
  root.add_v2("/job", {mib(100), 140, 10, 0});
  CHECK(root.room().limit_bytes == 100);
  CHECK(root.room().left_bytes == 0);
}

TEST_CASE("a limit of 0 counts as a limit") {
  const FakeRoot root;
  root.be_in("0::/job\n");
  root.add_v2("/job", {"0", 0, 0, 0});
  CHECK(group_memory(root.base()));
  CHECK(root.room().left_bytes == 0);
}

TEST_CASE("without a limit the free memory is unknown") {
  const FakeRoot root;
  CHECK_FALSE(group_memory(root.base()));
  root.be_in("4:memory:/job\n3:cpu,cpuacct:/job\n0::/x\nnonsense\n\n");
  CHECK_FALSE(group_memory(root.base()));
  root.add_v1("/job", {kV1NoLimit, 10, 0, 0});
  root.add_v2("/x", {"max", 10, 0, 0});
  CHECK_FALSE(group_memory(root.base()));
}

TEST_CASE("a group without an absolute path is ignored") {
  const FakeRoot root;
  root.be_in("4:memory:\n0::nowhere\n");
  CHECK_FALSE(group_memory(root.base()));
}

TEST_CASE("a limit without readable usage leaves no memory") {
  const FakeRoot root;
  root.be_in("0::/job\n");
  root.write("/sys/fs/cgroup/job/memory.max", mib(100));
  CHECK(root.room().limit_bytes == 100);
  CHECK(root.room().left_bytes == 0);
}

TEST_CASE("invalid figures count as zero") {
  const FakeRoot root;
  root.be_in("0::/job\n");
  root.add_v2("/job", {mib(100), 40, 0, 0});
  root.write("/sys/fs/cgroup/job/memory.stat",
             "file x\nfile \nshmem -1\nfile 99999999999999999999999\n");
  CHECK(root.room().left_bytes == 60);
}
