// Reported figures of a job never fall.
#include <numeric>
#include <random>

#include "report/metrics.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

double sum(const WallParts& parts) {
  return std::accumulate(
      parts.begin(), parts.end(), 0.0,
      [](double total, const auto& part) { return total + part.value_or(0); });
}

JobCounters with_parts(const WallParts& parts) {
  JobCounters counters;
  counters.wall_s = parts;
  return counters;
}

TEST_CASE("the first figures are reported unchanged") {
  JobCounters now = with_parts({10, 2, std::nullopt, 0, 3});
  now.home_cpu_s = 4;
  now.samples = 100;
  now.changes[2] = 7;
  JobCounters told;
  raise(told, now);
  CHECK(told == now);
}

TEST_CASE("a reported figure never falls or becomes unknown") {
  JobCounters now;
  now.home_cpu_s = now.away_cpu_s = now.trainer_cpu_s = 4;
  now.samples = now.read_bytes = 100;
  now.changes[0] = 2;
  JobCounters told;
  raise(told, now);
  const JobCounters before = told;
  now.trainer_cpu_s = 3;
  now.samples = 0;
  now.read_bytes.reset();
  now.changes[0] = 1;
  raise(told, now);
  CHECK(told == before);
  now.read_bytes = 101;
  raise(told, now);
  CHECK(told.read_bytes == 101);
}

TEST_CASE("the breakdown's parts are reported with the unattributed time") {
  const Breakdown breakdown =
      make_breakdown({100, {{60, ""}, {std::nullopt, ""}, {15, ""}, {5, ""}}});
  CHECK(wall_parts_s(breakdown) == WallParts{60, std::nullopt, 15, 5, 20});
}

// A step's time is unattributed until the page reports it.
TEST_CASE("excess time reported for one part slows the growth of the others") {
  JobCounters told;
  raise(told, with_parts({80, 0, 0, 0, 20}));
  raise(told, with_parts({100, 5, 0, 0,
                          5}));  // 10 s later: 15 s too much were reported
  CHECK(told.wall_s[4] == 20);
  CHECK(told.wall_s[0] == Approx(88));
  CHECK(told.wall_s[1] == Approx(2));
  raise(told, with_parts({115, 5, 0, 0, 5}));
  CHECK(sum(told.wall_s) == Approx(125));
  raise(told, with_parts({130, 5, 0, 0, 30}));
  CHECK(told.wall_s[0] == Approx(130));
  CHECK(told.wall_s[4] == Approx(30));
}

TEST_CASE("a part that becomes unknown keeps its time") {
  JobCounters told;
  raise(told, with_parts({50, 30, 0, 0, 20}));
  raise(told, with_parts({60, std::nullopt, std::nullopt, 0, 50}));
  CHECK(told.wall_s[1] == 30);
  CHECK(sum(told.wall_s) == Approx(110));
}

// For any new split of the wall time no part falls, and the parts add up to it.
TEST_CASE("parts never fall, and add up to the wall time") {
  const unsigned seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int job = 0; job < 200; ++job) {
    JobCounters told;
    double wall_s = 0;
    for (int look = 0; look < 50; ++look) {
      wall_s += 15 * uniform(random);
      const auto part = [&] {
        return TimePart{random() % 4 == 0
                            ? std::nullopt
                            : std::optional(wall_s * uniform(random)),
                        ""};
      };
      const Breakdown breakdown =
          make_breakdown({wall_s, part(), part(), part(), part()});
      const WallParts before = told.wall_s;
      raise(told, with_parts(wall_parts_s(breakdown)));
      for (size_t i = 0; i < kBreakdownParts; ++i) {
        REQUIRE(told.wall_s[i].value_or(0) >= before[i].value_or(0));
        REQUIRE(told.wall_s[i].has_value() >= before[i].has_value());
      }
      REQUIRE(sum(told.wall_s) <= wall_s * (1 + 1e-9));
    }
    // With a constant split the reported parts converge to it.
    WallParts last = wall_parts_s(make_breakdown(
        {wall_s, {{wall_s / 2, ""}, {wall_s / 4, ""}, {0, ""}, {0, ""}}}));
    for (int look = 0; look < 60; ++look) {
      wall_s *= 1.1;
      for (auto& seconds : last) *seconds *= 1.1;
      raise(told, with_parts(last));
    }
    CHECK(sum(told.wall_s) == Approx(wall_s));
    CHECK(*told.wall_s[0] == Approx(*last[0]).epsilon(0.02));
    CHECK(*told.wall_s[1] == Approx(*last[1]).epsilon(0.02));
  }
}

}  // namespace
}  // namespace penstock
