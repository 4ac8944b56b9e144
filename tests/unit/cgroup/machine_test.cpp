#include "cgroup/machine.h"

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"

using namespace penstock;

namespace {

// No v1 controller is mounted below the test's directory.
Result<std::unique_ptr<Backend>> open_at(const TempDir& dir) {
  static std::optional<CgroupFs> fs;
  static std::optional<ProcReader> proc;
  static const ThreadSched sched;
  fs.emplace(*CgroupFs::open_root(dir.path()));
  proc.emplace(*ProcReader::open());
  return open_backend(dir.path(), *fs, *proc, sched, {});
}

}  // namespace

TEST_CASE("the unified hierarchy is used if v1 is not mounted") {
  TempDir dir;
  dir.write("cgroup.controllers", "cpuset cpu io memory pids\n");
  CHECK(open_at(dir));
}

TEST_CASE("a machine with neither hierarchy is an error") {
  TempDir dir;
  const auto backend = open_at(dir);
  CHECK(backend.error().code == Code::kUnavailable);
  CHECK_THAT(backend.error().message,
             Catch::Matchers::ContainsSubstring(
                 "no unified hierarchy (cgroup v2) at " + dir.path().string()));
}

TEST_CASE("a hybrid machine without the cpu controller is an error") {
  TempDir dir;
  dir.write("cgroup.controllers", "memory pids\n");
  const auto backend = open_at(dir);
  CHECK(backend.error().code == Code::kUnavailable);
  CHECK_THAT(backend.error().message,
             Catch::Matchers::ContainsSubstring("no controller cpu"));
}
