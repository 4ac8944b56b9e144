#include "node_agent/reporter.h"

#include <cstring>

#include "report/advice.h"
#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

struct Fixture {
  Fixture() {
    config.pools = {{"scratch", "/scratch", 48'000'000}};
    context.config = &config;
    context.node = "n1";
    context.now_ns = 101 * kSecond;
    context.now_unix_s = 1100;
    job.id = 12;
    job.uid = 1000;
    job.managed = true;
    job.started_ns = 1 * kSecond;
    job.started_unix_s = 1000;
    job.widest.tasks = 1;
    Progress page;
    page.started_ns = 11 * kSecond;
    page.updated_ns = 91 * kSecond;
    page.samples = 8000;
    page.wait_ns = 40 * kSecond;
    page.fetch_ns = 30 * kSecond;
    page.prep_ns = 90 * kSecond;
    job.ended.add(page);
  }
  Config config;
  ReportContext context;
  Job job;
};

}  // namespace

TEST_CASE("wall time splits into parts that add up") {
  Fixture f;
  const JobReport report = build_report(f.job, f.context, false);
  CHECK(report.breakdown.wall_s == Approx(100));
  CHECK(*report.breakdown.parts.compute.seconds == Approx(40));
  CHECK(*report.breakdown.parts.fetch_stall.seconds == Approx(10));
  CHECK(*report.breakdown.parts.prep_stall.seconds == Approx(30));
  CHECK(report.breakdown.unattributed_s == Approx(20));
  CHECK(*report.throughput.measured == Estimate::exact(100));
  CHECK(report.ceiling.measured->value == Approx(200));
  CHECK(*report.end_unix_s == 1100);
}

TEST_CASE("reported exchange time does not count as compute") {
  Fixture f;
  Progress page;  // of a second rank
  page.started_ns = 11 * kSecond;
  page.updated_ns = 91 * kSecond;
  page.samples = 8000;
  page.wait_ns = 40 * kSecond;
  page.exchange_ns = 30 * kSecond;
  f.job.ended.add(page);
  JobReport report = build_report(f.job, f.context, false);
  CHECK(*report.breakdown.parts.exchange_stall.seconds == Approx(15));
  CHECK(*report.breakdown.parts.compute.seconds == Approx(25));
  CHECK(report.breakdown.unattributed_s == Approx(20));
  // The ceiling is what compute and exchange together allow.
  CHECK(report.ceiling.measured->value == Approx(400));
  report = build_report(Fixture().job, f.context, false);
  CHECK_FALSE(report.breakdown.parts.exchange_stall.seconds.has_value());
  CHECK(*report.breakdown.parts.compute.seconds == Approx(40));
}

TEST_CASE(
    "a job that mostly exchanges gradients is advised the sparse exchange") {
  Fixture f;
  f.job.ended = {};
  Progress page;
  page.started_ns = 1 * kSecond;
  page.updated_ns = 101 * kSecond;
  page.samples = 8000;
  page.wait_ns = 2 * kSecond;
  page.fetch_ns = page.prep_ns = 2 * kSecond;
  page.exchange_ns = 60 * kSecond;
  f.job.ended.add(page);
  const JobReport report = build_report(f.job, f.context, false);
  CHECK(*report.breakdown.parts.exchange_stall.seconds == Approx(60));
  CHECK(verdict(report).starts_with("Exchange-bound: "));
  const auto advice = recommend(report);
  REQUIRE(advice.size() == 1);
  CHECK(advice[0].lines[0].starts_with("penstock.exchange."));
}

TEST_CASE("simultaneous ranks are reported as one job") {
  Fixture f;
  Progress page;  // of the second rank, as the first
  page.started_ns = 11 * kSecond;
  page.updated_ns = 91 * kSecond;
  page.samples = 8000;
  page.wait_ns = 40 * kSecond;
  f.job.ended.add(page);
  // The job has ended.
  f.job.widest = {2, CpuSet({0, 1, 2, 3}), 0.5, {}};
  f.job.widest.grant.rate = 210;
  f.job.widest.grant.floor = 150;
  f.job.costs.corrected.emplace();
  f.job.costs.corrected->demand_cores = Figure{1.5, 1.4, 1.6};
  const JobReport report = build_report(f.job, f.context, false);
  CHECK(report.ranks == 2);
  CHECK(report.tasks == 2);
  CHECK(report.throughput.measured->value == Approx(200));
  CHECK(report.throughput.predicted->value == Approx(210));
  CHECK(*report.floor_rate == Approx(150));
  CHECK(*report.breakdown.parts.compute.seconds == Approx(40));
  CHECK(*report.breakdown.waited_s == Approx(40));
  CHECK(*report.cores.allocated == 4);
  CHECK(*report.cores.entitled == Approx(3.5));
  CHECK(report.cores.demand->value == Approx(3));
}

TEST_CASE("the rank that waits for data longest is named, with the mean") {
  Fixture f;
  Progress page;
  page.started_ns = 11 * kSecond;
  page.updated_ns = 91 * kSecond;
  page.wait_ns = 60 * kSecond;
  page.fetch_ns = 3 * kSecond;
  page.prep_ns = 2 * kSecond;
  f.job.ended.add(page, {5, 1});
  page.updated_ns = 20 * kSecond;  // all of 9 s: too short to tell
  page.wait_ns = 9 * kSecond;
  f.job.ended.add(page, {7, 0});
  const JobReport report = build_report(f.job, f.context, false);
  REQUIRE(report.slowest_rank);
  CHECK(report.slowest_rank->node == "n1");
  CHECK(report.slowest_rank->task == 5);
  CHECK(report.slowest_rank->process == 1);
  CHECK(report.slowest_rank->waited == Approx(0.75));
  CHECK(report.slowest_rank->mean == Approx(109.0 / 169));
  CHECK(report.slowest_rank->for_storage == true);
  f.job.ended = {};
  CHECK_FALSE(build_report(f.job, f.context, false).slowest_rank);
}

TEST_CASE("the ceiling excludes the time of contention with the loader") {
  Fixture f;
  const JobReport before = build_report(f.job, f.context, false);
  const double compute_s = *before.breakdown.parts.compute.seconds;
  f.job.totals.contention_s = compute_s / 2;
  const JobReport report = build_report(f.job, f.context, false);
  CHECK(report.ceiling.measured->value ==
        Approx(2 * before.ceiling.measured->value));
  CHECK(report.ceiling.measured_by.find("CPU") != std::string::npos);
  CHECK(*report.breakdown.parts.compute.seconds == Approx(compute_s / 2));
  CHECK(*report.breakdown.contention_s == Approx(compute_s / 2));
}

TEST_CASE("a rate in cores is not reported as a rate in samples") {
  Fixture f;
  f.job.widest.grant.rate = 0.22;
  f.job.widest.grant.floor = 0.22;
  f.job.widest.grant.in_cores = true;
  f.job.costs.corrected.emplace();
  const JobReport report = build_report(f.job, f.context, false);
  CHECK_FALSE(report.throughput.predicted);
  CHECK_FALSE(report.floor_rate);
}

TEST_CASE("a rank that reported only briefly does not double the rates") {
  Fixture f;
  Progress page;  // an evaluation of 8 s
  page.started_ns = 51 * kSecond;
  page.updated_ns = 59 * kSecond;
  page.samples = 80;
  f.job.ended.add(page);
  const JobReport report = build_report(f.job, f.context, false);
  CHECK(report.ranks == 1);
  CHECK(report.throughput.measured->value == Approx(8080 / 80.0));
  CHECK(*report.breakdown.waited_s == Approx(40 / 1.1));
}

TEST_CASE("figures of a job without a page are unknown, not zero") {
  Fixture f;
  f.job.ended = {};
  const JobReport report = build_report(f.job, f.context, true);
  CHECK_FALSE(report.breakdown.parts.compute.seconds.has_value());
  CHECK_FALSE(report.throughput.measured.has_value());
  CHECK_FALSE(report.ceiling.measured.has_value());
  CHECK(report.breakdown.unattributed_s == Approx(100));
  CHECK(report.running);
}

TEST_CASE("without a page the stalls come from pressure") {
  Fixture f;
  f.job.ended = {};
  f.job.totals.pressure = Pressure{30'000'000, 5'000'000};
  JobReport report = build_report(f.job, f.context, true);
  CHECK(*report.breakdown.parts.fetch_stall.seconds == Approx(5));
  CHECK(*report.breakdown.parts.prep_stall.seconds == Approx(30));
  CHECK_FALSE(report.breakdown.parts.compute.seconds.has_value());
  CHECK_FALSE(report.breakdown.waited_s.has_value());
  CHECK(report.breakdown.unattributed_s == Approx(65));
  // Both at once, counted from before the first sample: limited to the
  // wall time.
  f.job.totals.pressure = Pressure{300'000'000, 100'000'000};
  report = build_report(f.job, f.context, true);
  CHECK(*report.pressure.cpu_s == Approx(100));
  CHECK(*report.breakdown.parts.fetch_stall.seconds +
            *report.breakdown.parts.prep_stall.seconds ==
        Approx(100));
  CHECK(report.breakdown.unattributed_s == Approx(0));
}

TEST_CASE("stalls that the job reports take precedence over pressure") {
  Fixture f;
  f.job.totals.pressure = Pressure{90'000'000, 80'000'000};
  const JobReport report = build_report(f.job, f.context, false);
  CHECK(*report.breakdown.parts.prep_stall.seconds == Approx(30));
  CHECK(*report.pressure.cpu_s == Approx(90));
  CHECK(report.pressure.method == "PSI some");
}

TEST_CASE("CPU time at home, away and of the trainer is reported separately") {
  Fixture f;
  f.job.totals.home_cpu_s = 95;
  f.job.totals.away_cpu_s = 60;
  f.job.totals.job_cpu_s = 160;
  const JobReport report = build_report(f.job, f.context, true);
  CHECK(*report.cores.used_home == Approx(0.95));
  CHECK(*report.cores.used_away == Approx(0.60));
  CHECK(*report.cores.used_trainer == Approx(0.05));
}

TEST_CASE("options are reported in the form that the user writes") {
  penstock_wire_options options{};
  options.mode = PENSTOCK_MODE_AUTO;
  options.threads = 6;
  options.weight_milli = 500;
  std::strcpy(options.share, "search");
  const auto given = options_given(options);
  REQUIRE(given.size() == 4);
  CHECK(given[3] == OptionGiven{"loader-share", "search"});
  CHECK(given[0] == OptionGiven{"loader", "auto"});
  CHECK(given[1] == OptionGiven{"loader-threads", "6"});
  CHECK(given[2] == OptionGiven{"loader-weight", "0.5"});
}

TEST_CASE("hits of the loader's cache are reported") {
  Fixture f;
  CHECK(build_report(f.job, f.context, false).cache == CacheFigures());
  Progress page;
  page.started_ns = 11 * kSecond;
  page.updated_ns = 91 * kSecond;
  page.samples = page.prepared = 8000;
  page.cached = 6000;
  page.cached_bytes = 600000;
  page.peer = 1500;
  page.peer_bytes = 150000;
  page.cache_samples = 650;
  page.data_samples = 1000;
  f.job.ended = {};
  f.job.ended.add(page);
  const CacheFigures cache = build_report(f.job, f.context, false).cache;
  CHECK(*cache.hits == 6000);
  CHECK(*cache.hit_share == Approx(0.75));
  CHECK(*cache.hit_bytes == 600000);
  CHECK(*cache.peer_hits == 1500);
  CHECK(*cache.peer_bytes == 150000);
  CHECK(*cache.held_share == Approx(0.65));
  CHECK(*cache.held_bytes == Approx(650 * 140));
}

TEST_CASE("joint preparation with other jobs is noted in the report") {
  Fixture f;
  CHECK(build_report(f.job, f.context, false).notes.empty());
  f.job.sharing.most_sharers = 8;
  const JobReport report = build_report(f.job, f.context, false);
  REQUIRE(report.notes.size() == 1);
  CHECK(report.notes[0].find("8 ranks in all") != std::string::npos);
  f.job.notes.assign(kMaxReportNotes, "another one");
  CHECK(build_report(f.job, f.context, false).notes == f.job.notes);
}

TEST_CASE("the report says who counted batches, or why nobody did") {
  Fixture counting;
  Fixture none;
  none.job.ended = {};
  auto counted = [](Fixture& f) {
    return build_report(f.job, f.context, false).quality.counted;
  };
  CHECK(counted(counting) == Counted::kProgram);
  counting.job.greetings.hook = true;
  CHECK(counted(counting) == Counted::kHook);
  counting.job.greetings.program = true;
  CHECK(counted(counting) == Counted::kProgram);

  CHECK(counted(none) == Counted::kNoHook);
  none.job.options.mode = PENSTOCK_MODE_AUTO;
  CHECK(counted(none) == Counted::kUnseen);
  none.job.options.watch = PENSTOCK_WATCH_OFF;
  CHECK(counted(none) == Counted::kUserOff);
  none.job.greetings.refused = true;
  CHECK(counted(none) == Counted::kSiteOff);
  none.job.greetings.hook = true;
  CHECK(counted(none) == Counted::kNoStep);
}
