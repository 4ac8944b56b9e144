#include "report/merge.h"

#include "report/advice.h"
#include "report/html_report.h"
#include "report/json.h"
#include "report/render.h"
#include "samples.h"
#include "tests/unit/catch.h"
#include "two_parts.h"

namespace penstock {

TEST_CASE("a launch problem of several nodes is told once, with a node") {
  auto parts = two_parts();  // c2's ranks wait
  const LaunchProblem many{LaunchFault::kManyWorkers, {"num_workers=1"}, "x"};
  const LaunchProblem pinned{LaunchFault::kTasksPinned, {"y"}, "z"};
  parts[0].launch_problems = {many};
  parts[1].launch_problems = {pinned, many};
  const auto problems = merge_reports(parts).launch_problems;
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].reason == "z, on c1");
  CHECK(problems[1].reason == "x, on c2");
  CHECK(problems[1].lines == many.lines);
}

TEST_CASE("a single part is the report") {
  CHECK(merge_reports({samples::input_bound()}) == samples::input_bound());
}

TEST_CASE("rates, cores and counts are sums") {
  const auto parts = two_parts();
  const JobReport all = merge_reports(parts);
  CHECK(all.node == "c1,c2");
  CHECK(all.tasks == 3);
  CHECK(all.ranks == 3);
  CHECK(all.throughput.measured->value == Approx(2 * 584));
  CHECK(all.ceiling.predicted->low == Approx(2 * 650));
  CHECK(*all.floor_rate == Approx(420));
  CHECK(*all.cores.allocated == 2);
  CHECK(*all.cores.node == 128);
  CHECK(all.cores.demand->value == Approx(7.2));
  CHECK(*all.cores.requested == 2);  // of each task
  CHECK(all.quality.samples == 2 * 182208);
  CHECK(*all.bandwidth.pool_bytes_per_s ==
        *parts[0].bandwidth.pool_bytes_per_s);
  CHECK(*all.bandwidth.used_bytes_per_s ==
        Approx(2 * *parts[0].bandwidth.used_bytes_per_s));
}

TEST_CASE("times are averages over the ranks, and add up") {
  const Breakdown all = merge_reports(two_parts()).breakdown;
  CHECK(all.wall_s == Approx((2 * 300 + 312) / 3.0));
  CHECK(*all.waited_s == Approx((2 * 10 + 96.72) / 3));
  CHECK(*all.parts.compute.seconds == Approx((2 * 290 + 215.28) / 3));
  double sum = all.unattributed_s;
  for (const WallPartNames& it : kWallParts) {
    sum += all.parts[it.part].seconds.value_or(0);
  }
  CHECK(sum == Approx(all.wall_s));
}

TEST_CASE(
    "the nodes are named, and the one that waits longest is the slowest") {
  const JobReport all = merge_reports(two_parts());
  REQUIRE(all.nodes.size() == 2);
  CHECK(all.nodes[0].node == "c1");
  CHECK_FALSE(all.nodes[0].slowest);
  CHECK(all.nodes[1].node == "c2");
  CHECK(all.nodes[1].slowest);
  CHECK(*all.nodes[1].rate == Approx(584));
  // Its changes, and its curve for three ranks.
  CHECK(all.changes == samples::input_bound().changes);
  CHECK(all.what_if->ceiling == Approx(3 * 846));
  CHECK(*all.what_if->here_cores == Approx(3 * 1.63));
  CHECK(all.what_if->notes.back() ==
        "The curve is that of c2, the slowest of 2 nodes, for all of them.");
}

TEST_CASE("nobody is the slowest of nodes that hardly wait") {
  auto parts = two_parts();
  parts.erase(parts.begin());
  parts.push_back(parts[0]);
  parts[1].node = "c3";
  for (const NodePart& node : merge_reports(parts).nodes) {
    CHECK_FALSE(node.slowest);
  }
}

TEST_CASE("notes are told once, and reasons are added up") {
  const JobReport all = merge_reports(two_parts());
  CHECK(all.notes ==
        std::vector<std::string>{
            "the accelerator is emulated: a timed wait per step", "of c1"});
  CHECK(all.cores.lent_by == std::vector<LentBy>{{0, 0.75}, {12, 0.5}});
  REQUIRE(all.slowest_rank);
  CHECK(all.slowest_rank->node == "c2");
  CHECK(all.slowest_rank->process == 3);
  CHECK(all.slowest_rank->waited == 0.4);
  CHECK(all.slowest_rank->mean < 0.35);
  CHECK(all.slowest_rank->mean > 0.05);
  CHECK(all.gpus == GpuFigures{5, 4, (1.0 + 3 * 0.2) / 4, 50, 3e9, 80e9});
  REQUIRE(all.cores.not_lent.size() == 2);
  CHECK(all.cores.not_lent[0] == CoresNotLent{NotLent::kThreads, 0.8});
  CHECK(all.cores.not_lent[1] == CoresNotLent{NotLent::kNoCpus, 0.7});
}

TEST_CASE("a figure that one part does not know is not understated") {
  auto parts = two_parts();
  parts[0].cores.demand.reset();
  parts[1].bandwidth = {};
  const JobReport all = merge_reports(parts);
  CHECK_FALSE(all.cores.demand);
  CHECK(all.bandwidth.pool.empty());
}

TEST_CASE("clocks that differ do not lengthen the job") {
  auto parts = two_parts();
  parts[1].start_unix_s += 600;
  parts[1].updated_unix_s += 600;
  *parts[1].end_unix_s += 600;
  const JobReport all = merge_reports(parts);
  CHECK(all.run_s() == Approx(312));
  CHECK(all.notes.back().find("starts are 598 s apart") != std::string::npos);
}

TEST_CASE("the job runs while one of its parts does") {
  auto parts = two_parts();
  parts[0].running = true;
  parts[0].end_unix_s.reset();
  const JobReport all = merge_reports(parts);
  CHECK(all.running);
  CHECK_FALSE(all.end_unix_s);
  CHECK(all.nodes[1].running);
}

TEST_CASE("timelines are added up on one grid") {
  auto parts = two_parts();
  const JobReport all = merge_reports(parts);
  REQUIRE_FALSE(all.timeline.empty());
  double samples = 0, of_parts = 0;
  for (const TimelinePoint& it : all.timeline) {
    samples += it.rate.value_or(0) * it.duration_s;
  }
  for (const JobReport& part : parts) {
    for (const TimelinePoint& it : part.timeline) {
      of_parts += it.rate.value_or(0) * it.duration_s;
    }
  }
  CHECK(samples == Approx(of_parts).epsilon(0.05));
  CHECK(all.timeline.front().begin_unix_s ==
        parts[1].timeline.front().begin_unix_s);
}

TEST_CASE("the verdict and the advice are the slowest node's") {
  auto parts = two_parts();
  const JobReport alone = parts[0];
  CHECK(verdict(merge_reports(parts)) ==
        verdict(alone) + " on c2, the slowest of 2 nodes");
  CHECK(recommend(merge_reports(parts)) == recommend(alone));
  SECTION("however many nodes wait for it") {
    for (int i = 3; i < 18; ++i) {
      parts.push_back(parts[1]);
      parts.back().node = "c" + std::to_string(i);
    }
    const JobReport all = merge_reports(parts);
    CHECK(verdict(all).starts_with("Input-bound: 31%"));
    CHECK(recommend(all) == recommend(alone));
  }
  SECTION("but for CPUs that a smaller node does not have") {
    parts[1].cores.node = 6;  // three of each task
    const auto advice = recommend(merge_reports(parts));
    REQUIRE(advice.size() == 2);
    CHECK(advice[1].lines.back() == "#SBATCH --cpus-per-task=3");
  }
}

TEST_CASE("what a job asked for is of each node") {
  const auto parts = two_parts();
  const JobReport all = merge_reports(parts);
  CHECK(all.cores.requested == parts[0].cores.requested);
  CHECK(all.bandwidth.requested_bytes_per_s ==
        parts[0].bandwidth.requested_bytes_per_s);
}

TEST_CASE("a part that does not know its waits does not hide the others'") {
  auto parts = two_parts();
  parts[1].breakdown.waited_s.reset();
  CHECK(*merge_reports(parts).breakdown.waited_s == Approx(96.72));
}

TEST_CASE("what a part does not know of its time is unattributed") {
  auto parts = two_parts();
  parts[1].breakdown = make_breakdown({.wall_s = 300});
  const Breakdown all = merge_reports(parts).breakdown;
  CHECK(*all.parts.compute.seconds == Approx(215.28 / 3));
  CHECK(all.unattributed_s == Approx(2 * 300 / 3.0));
}

TEST_CASE("a merged report is written, read and shown") {
  const JobReport all = merge_reports(two_parts());
  const auto read = parse_report(to_json(all));
  REQUIRE(read);
  CHECK(read->nodes == all.nodes);
  const std::string text = render_text(all);
  CHECK(text.find("c2                     1        584") != std::string::npos);
  CHECK(text.find("the slowest: its ranks wait longest") != std::string::npos);
  CHECK(render_html(all).find("c2 (slowest)") != std::string::npos);
}

TEST_CASE("a job of many nodes has a bounded report") {
  auto parts = two_parts();
  for (int i = 0; i < 5000; ++i) {
    JobReport part = parts[0];
    part.timeline.clear();
    part.node = "node" + std::to_string(i);
    parts.push_back(std::move(part));
  }
  const JobReport all = merge_reports(parts);
  CHECK(all.nodes.size() == kMaxReportNodes);
  CHECK(all.node == "c1 to node999 (5002 nodes)");
  CHECK(parse_report(to_json(all)));
}

}  // namespace penstock
