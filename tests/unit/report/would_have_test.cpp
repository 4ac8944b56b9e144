#include "report/would_have.h"

#include "report/report.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

// A job on one CPU whose loader prepares 200 samples/s a core, and whose
// trainer takes 0.1 cores at its ceiling of 1000 samples/s. It waits for data
// in 80 of 100 s.
JobReport starved() {
  JobReport report;
  report.tasks = report.ranks = 1;
  report.breakdown = make_breakdown({.wall_s = 100,
                                     .parts = {.compute = {{20.0}},
                                               .fetch_stall = {{0.0}},
                                               .prep_stall = {{80.0}}},
                                     .waited_s = 80.0});
  CoreFigures& cores = report.cores;
  cores.node = 16;
  cores.allocated = 1;
  cores.trainer_demand = Estimate::exact(0.1);
  cores.loader_threads = 4;
  cores.loader_kind = LoaderKind::kThreads;
  WhatIfCurve& curve = report.what_if.emplace();
  curve.ceiling = 1000;
  curve.here_rate = 196;
  for (double at = 0; at <= 8; at += 0.25) {
    const double rate = std::min(1000.0, 200 * at);
    curve.points.push_back({at, {rate, 0.9 * rate, 1.05 * rate}});
  }
  return report;
}

WouldHave saving(const JobReport& report,
                 const std::vector<TimeWithLoan>& times) {
  WouldHave would_have;
  for (const TimeWithLoan& time : times) would_have.observed_s += time.seconds;
  estimate_saving(report, times, would_have);
  return would_have;
}

TEST_CASE("time with loans is saved in proportion to the rate they bring") {
  // With one core more the rate doubles: half of the time is saved.
  const WouldHave all = saving(starved(), {{1, 100}});
  REQUIRE(all.saved_s);
  CHECK(all.saved_s->value == Approx(50).epsilon(0.02));
  CHECK(all.saved_s->low < 50);
  CHECK(all.saved_s->high > 50);
  CHECK(gain_of(all)->value == Approx(1).epsilon(0.04));
  // In the other half of the time there was nothing to borrow.
  const WouldHave half = saving(starved(), {{0, 50}, {1, 50}});
  CHECK(half.saved_s->value == Approx(25).epsilon(0.02));
  CHECK(gain_of(half)->value == Approx(1.0 / 3).epsilon(0.04));
}

TEST_CASE("no loan saves more than the time that the job waited") {
  JobReport report = starved();
  report.breakdown.waited_s = 20;
  report.breakdown = make_breakdown(report.breakdown);
  report.breakdown.parts.prep_stall.seconds = 20;
  CHECK(saving(report, {{4, 100}}).saved_s->value <= 20.001);
}

TEST_CASE("a job that does not wait would have saved nothing") {
  JobReport report = starved();
  report.breakdown.waited_s = 1;
  const WouldHave none = saving(report, {{2, 100}});
  REQUIRE(none.saved_s);
  CHECK(*none.saved_s == Estimate::exact(0));
}

TEST_CASE("without loans nothing is saved, whatever is known of the job") {
  const WouldHave none = saving(JobReport{}, {{0, 100}});
  CHECK(none.saved_s == Estimate::exact(0));
  CHECK(none.unknown.empty());
}

TEST_CASE("the saving of a job without a curve is unknown, with the reason") {
  JobReport report = starved();
  report.what_if.emplace().unknown = "the ceiling is not known";
  WouldHave unknown = saving(report, {{1, 100}});
  CHECK_FALSE(unknown.saved_s);
  CHECK(unknown.unknown == "the ceiling is not known");
  CHECK_FALSE(gain_of(unknown));
  report = starved();
  report.breakdown.waited_s.reset();
  CHECK(saving(report, {{1, 100}}).unknown ==
        "the time that it waited for data is not known");
}

TEST_CASE("the texts have the loans, and the gain or why it is unknown") {
  WouldHave it{.observed_s = 600, .borrowed_cores = 0.82, .lent_cores = 0};
  it.saved_s = Estimate{120, 60, 180};
  const auto texts = would_have_texts(it);
  REQUIRE(texts.size() == 2);
  CHECK(texts[0] ==
        "Only observed (Mode=observe) for 10 min 00 s: Penstock changed "
        "nothing. It would have lent it 0.82 cores, and 0.00 of its own to "
        "others, on average");
  CHECK(texts[1] ==
        "It would have been 25% faster with them [11 to 43]: 2 min 00 s less "
        "[60.0 s to 3 min 00 s] for the same work");
  it.saved_s.reset();
  it.unknown = "the ceiling is not known";
  CHECK(would_have_texts(it).at(1) ==
        "What that would have gained is not known: the ceiling is not known");
}

TEST_CASE("nodes' loans add up, and their least saving is the job's") {
  std::vector<JobReport> parts(3);
  CHECK_FALSE(of_all_nodes(parts));
  parts[0].would_have =
      WouldHave{.observed_s = 100, .borrowed_cores = 1, .lent_cores = 0.5};
  parts[0].would_have->saved_s = Estimate{40, 30, 50};
  parts[1].would_have =
      WouldHave{.observed_s = 90, .borrowed_cores = 0.5, .lent_cores = 1};
  parts[1].would_have->saved_s = Estimate{10, 5, 15};
  std::optional<WouldHave> all = of_all_nodes(parts);
  REQUIRE(all);
  CHECK(all->observed_s == 100);
  CHECK(all->borrowed_cores == 1.5);
  CHECK(all->lent_cores == 1.5);
  CHECK(all->saved_s == Estimate{10, 5, 15});
  parts[0].would_have->saved_s.reset();
  parts[0].would_have->unknown = "why";
  all = of_all_nodes(parts);
  CHECK_FALSE(all->saved_s);
  CHECK(all->unknown == "why");
  std::swap(parts[0], parts[1]);
  CHECK_FALSE(of_all_nodes(parts)->saved_s);
}

}  // namespace
}  // namespace penstock
