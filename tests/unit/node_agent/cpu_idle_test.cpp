#include "node_agent/cpu_idle.h"

#include "tests/unit/catch.h"

using penstock::parse_cpu_ticks;

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
