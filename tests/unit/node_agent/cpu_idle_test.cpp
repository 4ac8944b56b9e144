#include "node_agent/cpu_idle.h"

#include <string>

#include "tests/unit/catch.h"
#include "tests/unit/cgroup/temp_dir.h"

using penstock::parse_cpu_ticks;

namespace {

// As after months; the text is longer than 64 KiB from some 700 CPUs on.
std::string stat_of(int cpus, uint64_t idle) {
  const std::string busy = " 1234567890 1234567 123456789 ";
  const std::string rest = " 12345678 0 12345678 12345678 0 0\n";
  std::string text = "cpu " + busy + std::to_string(idle) + rest;
  for (int cpu = 0; cpu < cpus; ++cpu) {
    text +=
        "cpu" + std::to_string(cpu) + busy + std::to_string(idle + 1) + rest;
  }
  return text + "intr 99 1 2\nctxt 3\n";
}

}  // namespace

TEST_CASE("idle and total ticks are read for each CPU") {
  auto ticks = parse_cpu_ticks(
      "cpu  10 0 10 70 10 0 0 0 0 0\n"
      "cpu0 5 0 5 40 10 0 0 0 0 0\n"
      "cpu13 1 2 3 4 5 6 7 8 0 0\n"
      "intr 123 0 0\n");
  REQUIRE(ticks.ok());
  REQUIRE(ticks->size() == 2);
  CHECK(ticks->at(0).idle == 50);
  CHECK(ticks->at(0).total == 60);
  CHECK(ticks->at(13).idle == 9);
  CHECK(ticks->at(13).total == 36);
}

TEST_CASE("malformed lines are refused") {
  CHECK_FALSE(parse_cpu_ticks("cpu0 1 2 3\n").ok());
  CHECK_FALSE(parse_cpu_ticks("cpux 1 2 3 4 5 6 7 8\n").ok());
  CHECK_FALSE(parse_cpu_ticks("cpu99999 1 2 3 4 5 6 7 8\n").ok());
}

TEST_CASE("idle shares need two readings") {
  auto idle = penstock::CpuIdle::open();
  REQUIRE(idle.ok());
  REQUIRE(idle->refresh().ok());
  CHECK(idle->shares().empty());
}

TEST_CASE("every CPU of the largest machine has a share") {
  const penstock::TempDir directory;
  for (const int cpus : {1, 65, 1025, 4096}) {
    CAPTURE(cpus);
    directory.write("stat", stat_of(cpus, 12345678901));
    auto idle = penstock::CpuIdle::open(directory.path() / "stat");
    REQUIRE(idle.ok());
    REQUIRE(idle->refresh().ok());
    directory.write("stat", stat_of(cpus, 12345678909));
    REQUIRE(idle->refresh().ok());
    CHECK(idle->shares().size() == size_t(cpus));
    CHECK(idle->shares().at(cpus - 1) == Approx(1.0));
  }
}
