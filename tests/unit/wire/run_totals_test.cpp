#include "wire/run_totals.h"

#include <cmath>
#include <limits>
#include <random>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE("the rest of the wall time is unattributed") {
  RunTotals run{.wall_s = 100, .parts_s = {.compute = 50, .prep_stall = 20}};
  CHECK(attributed_s(run) == 70);
  CHECK(unattributed_s(run) == 30.0);
  run.parts_s.exchange_stall = 30;
  CHECK(unattributed_s(run) == 0.0);
  CHECK_FALSE(unattributed_s(RunTotals{.parts_s = {.compute = 1}}));
}

TEST_CASE(
    "the stalled time is the waits for data plus the exchange stall, or "
    "unknown") {
  CHECK_FALSE(stalled_s({.wall_s = 100, .parts_s = {.compute = 50}}));
  CHECK(stalled_s({.wall_s = 100, .parts_s = {.fetch_stall = 0}}) == 0.0);
  CHECK(stalled_s({.parts_s = {.fetch_stall = 5, .prep_stall = 7}}) == 12.0);
  CHECK(stalled_s({.parts_s = {.fetch_stall = 5, .exchange_stall = 7}}) ==
        12.0);
  // Waits whose causes are known in part or not at all.
  CHECK(stalled_s({.parts_s = {.fetch_stall = 5}, .waited_s = 20}) == 20.0);
  CHECK(stalled_s({.parts_s = {.exchange_stall = 4}, .waited_s = 20}) == 24.0);
  // Two clocks may disagree: the sum is limited to the wall time.
  CHECK(stalled_s(
            {.wall_s = 22, .parts_s = {.exchange_stall = 4}, .waited_s = 20}) ==
        22.0);
}

TEST_CASE("parts beyond the wall time do not add up") {
  CHECK(adds_up({}));
  CHECK(adds_up({.wall_s = 0}));
  CHECK(adds_up({.wall_s = 100, .parts_s = {.compute = 60, .prep_stall = 40}}));
  CHECK_FALSE(
      adds_up({.wall_s = 100, .parts_s = {.compute = 60, .prep_stall = 41}}));
  CHECK_FALSE(adds_up({.parts_s = {.compute = 1}}));
}

TEST_CASE(
    "figures of a message are limited to bounds, and unknown ones stay "
    "unknown") {
  const double nan = std::nan(""),
               inf = std::numeric_limits<double>::infinity();
  const RunTotals run = within_bounds({.wall_s = 1e12,
                                       .parts_s = {.compute = nan},
                                       .waited_s = -3,
                                       .away_core_s = inf,
                                       .floor_samples_per_s = 1e30});
  CHECK(run.wall_s == bounds::kMaxSeconds);
  CHECK_FALSE(run.parts_s.compute);
  CHECK(run.waited_s == 0.0);
  CHECK_FALSE(run.away_core_s);
  CHECK(run.floor_samples_per_s == bounds::kMaxRate);
  CHECK_FALSE(run.home_core_s);
  const RunTotals more = within_bounds(
      {.wall_s = 10, .parts_s = {.compute = 9, .fetch_stall = 2}});
  CHECK(more == RunTotals{.wall_s = 10});
}

TEST_CASE("totals of no nodes are unknown") {
  CHECK(of_all_nodes({}) == RunTotals());
}

TEST_CASE("a job's longest idle time of a GPU is the highest of its nodes") {
  const RunTotals all = of_all_nodes({{2, {.gpu_s = 10, .gpu_idle_s = 5}},
                                      {6, {.gpu_s = 30, .gpu_idle_s = 25}},
                                      {1, {.gpu_s = 2, .gpu_idle_s = 1}}});
  CHECK(all.gpu_s == 42.0);
  CHECK(all.gpu_idle_s == 25.0);
}

TEST_CASE("a node that does not know its GPUs' use does not hide the others") {
  const RunTotals all = of_all_nodes(
      {{2, {.wall_s = 9, .gpu_s = 10, .gpu_idle_s = 5}}, {2, {.wall_s = 9}}});
  CHECK(all.gpu_s == 10.0);
  CHECK(all.gpu_idle_s == 5.0);
  CHECK_FALSE(all.gpu_busy_s);
  CHECK_FALSE(of_all_nodes({{2, {}}, {2, {}}}).gpu_s);
}

TEST_CASE("a job's totals keep the sums over its nodes") {
  const uint64_t seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> share(0, 1);
  for (int round = 0; round < 500; ++round) {
    std::vector<NodeTotals> nodes(1 + random() % 5);
    double rank_wall_s = 0, rank_parts_s = 0, ranks = 0, lent_s = 0;
    for (NodeTotals& node : nodes) {
      node.ranks = double(1 + random() % 8);
      RunTotals& run = node.run;
      run.wall_s = 1000 * share(random);
      double left_s = *run.wall_s;
      for (const WallPartNames& it : kWallParts) {
        run.parts_s[it.part] = left_s * share(random);
        left_s -= *run.parts_s[it.part];
      }
      run.lent_core_s = 100 * share(random);
      ranks += node.ranks;
      rank_wall_s += node.ranks * *run.wall_s;
      rank_parts_s += node.ranks * attributed_s(run);
      lent_s += *run.lent_core_s;
    }
    const RunTotals all = of_all_nodes(nodes);
    REQUIRE(adds_up(all));
    CHECK(*all.wall_s * ranks == Approx(rank_wall_s));
    CHECK(attributed_s(all) * ranks == Approx(rank_parts_s));
    CHECK(attributed_s(all) + *unattributed_s(all) == Approx(*all.wall_s));
    CHECK(*all.lent_core_s == Approx(lent_s));
    CHECK_FALSE(all.waited_s);
    CHECK(within_bounds(all) == all);
  }
}

}  // namespace
}  // namespace penstock
