#include "node_agent/system_cpus.h"

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"

using namespace penstock;

TEST_CASE("CPUs of isolcpus= and of nohz_full= are isolated") {
  TempDir sys;
  sys.write("isolated", "2-3\n");
  sys.write("nohz_full", "3,8\n");
  CHECK(*isolated_cpus(sys.path().string()) == CpuSet({2, 3, 8}));
}

TEST_CASE("no CPU is isolated without the kernel's options") {
  TempDir sys;
  CHECK(isolated_cpus(sys.path().string())->empty());
  sys.write("isolated", "\n");
  sys.write("nohz_full", "  (null)\n");
  CHECK(isolated_cpus(sys.path().string())->empty());
}

TEST_CASE("an unknown text about isolated CPUs is an error") {
  TempDir sys;
  sys.write("isolated", "some\n");
  CHECK_FALSE(isolated_cpus(sys.path().string()));
}
