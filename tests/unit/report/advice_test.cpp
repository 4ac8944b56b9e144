#include "report/advice.h"

#include "samples.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

std::vector<std::string> lines(const JobReport& report) {
  std::vector<std::string> out;
  for (const Recommendation& advice : recommend(report)) {
    out.insert(out.end(), advice.lines.begin(), advice.lines.end());
  }
  return out;
}

TEST_CASE("the verdict names the share of waiting and its parts") {
  CHECK(verdict(samples::input_bound()) ==
        "Input-bound: 31% of step time waits for data (fetch 22%, prep 9%)");
  CHECK(verdict(samples::wasteful()) ==
        "Compute-bound: 1% of step time waits for data (fetch 1%, prep 0%)");
}

TEST_CASE("the verdict distinguishes unknown stalls from none") {
  JobReport report = samples::unknown();
  CHECK(verdict(report) ==
        "No verdict: the job did not report how long it waited for data");
  report.pressure = {18.0, 0.0, "PSI some"};
  report.breakdown = make_breakdown(
      {.wall_s = 45,
       .parts = {.fetch_stall = {{0.0}}, .prep_stall = {{18.0}}}});
  CHECK(verdict(report) ==
        "No verdict: the job did not report how long it waited for data; "
        "threads of it were held up by I/O 0% of the time, by want of CPU 40%");
  report.breakdown = {};
  CHECK(verdict(report) == "No verdict: nothing was measured");
  report.breakdown = make_breakdown({.wall_s = 100, .waited_s = 40.0});
  CHECK(verdict(report) ==
        "Input-bound: 40% of step time waits for data (fetch and prep not told "
        "apart)");
  report.breakdown = make_breakdown(
      {.wall_s = 100, .parts = {.fetch_stall = {{12.0}}}, .waited_s = 40.0});
  CHECK(verdict(report) ==
        "Input-bound: 40% of step time waits for data (fetch 12%, prep "
        "unknown)");
  report.breakdown =
      make_breakdown({.wall_s = 100,
                      .parts = {.fetch_stall = {{1.0}}, .prep_stall = {{1.0}}},
                      .waited_s = 2.0});
  CHECK(verdict(report) ==
        "Not input-bound: 2% of step time waits for data (fetch 1%, prep 1%)");
}

TEST_CASE("the verdict names CPU contention of loader and trainer") {
  JobReport report = samples::input_bound();
  report.breakdown = make_breakdown({.wall_s = 100,
                                     .parts = {.compute = {{55.0}},
                                               .fetch_stall = {{0.0}},
                                               .prep_stall = {{45.0}}},
                                     .waited_s = 1.0,
                                     .contention_s = 44.0});
  CHECK(verdict(report) ==
        "Input-bound: 45% of step time waits for data, or for CPUs that the "
        "loader uses (fetch 0%, prep 45%, of it 44% CPU contention of trainer "
        "and loader)");
}

TEST_CASE(
    "a busy job with an unrecognised loader is advised to set --loader-match") {
  JobReport report = samples::unknown();
  CHECK(recommend(report).empty());  // nothing is known of its CPUs
  report.cores.allocated = 2;
  report.cores.used_trainer = 1.9;
  auto advice = recommend(report);
  REQUIRE(advice.size() == 1);
  CHECK(advice[0].lines[0] == "#SBATCH --loader-match=PATTERN");
  CHECK_FALSE(advice[0].gain);
  report.options.push_back({"loader-match", "reader-*"});
  CHECK(recommend(report)[0].reason.ends_with("and reader-* matches none"));
  report.cores.used_trainer = 0.1;  // more CPUs would not help it
  CHECK(recommend(report).empty());
  report.cores.used_trainer = 1.9;
  report.quality.loader_source = LoaderSource::kMatch;
  CHECK(recommend(report).empty());
}

TEST_CASE("without waits for data the verdict names compute or exchange") {
  JobReport report = samples::unknown();
  Breakdown parts{.wall_s = 100,
                  .parts = {.compute = {{58.0}},
                            .fetch_stall = {{1.0}},
                            .prep_stall = {{1.0}},
                            .exchange_stall = {{40.0}}},
                  .waited_s = 2.0};
  report.breakdown = make_breakdown(parts);
  CHECK(verdict(report) ==
        "Compute-bound: 2% of step time waits for data (fetch 1%, prep 1%), "
        "40% for gradient exchange");
  std::swap(parts.parts.compute, parts.parts.exchange_stall);
  report.breakdown = make_breakdown(parts);
  CHECK(verdict(report) ==
        "Exchange-bound: 2% of step time waits for data (fetch 1%, prep 1%), "
        "58% for gradient exchange");
  parts.parts.exchange_stall.seconds.reset();
  report.breakdown = make_breakdown(parts);
  CHECK(verdict(report).starts_with("Not input-bound: "));
}

TEST_CASE("a starved job is advised on bandwidth, CPUs and threads") {
  const std::vector<Recommendation> list = recommend(samples::input_bound());
  REQUIRE(list.size() == 2);
  CHECK(list[0].lines == std::vector<std::string>{"#SBATCH --loader-bw=37M"});
  CHECK(list[0].gain->value == Approx(0.22 / 0.78));
  CHECK(list[1].lines == std::vector<std::string>{"#SBATCH --loader-threads=4",
                                                  "#SBATCH --cpus-per-task=4"});
}

TEST_CASE("without evidence nothing is recommended") {
  JobReport report = samples::input_bound();
  SECTION("the run was too short") {
    report.end_unix_s = report.start_unix_s + report.recommend_after_s - 1;
  }
  SECTION("the job's figures are contradictory") {
    report.quality.pages_contradicted = true;
  }
  SECTION("neither curve nor demand is known") {
    report.what_if.reset();
    report.bandwidth.demand_bytes_per_s.reset();
  }
  SECTION("the job does not wait, and its CPUs match the demand") {
    report.breakdown = make_breakdown({.wall_s = 312,
                                       .parts = {.compute = {{312.0}},
                                                 .fetch_stall = {{0.0}},
                                                 .prep_stall = {{0.0}}},
                                       .waited_s = 0.0});
    report.cores.allocated = 5;
  }
  SECTION("stalls are unknown") {
    report.breakdown = make_breakdown({.wall_s = 312});
    report.cores.allocated = 64;
  }
  CHECK(lines(report).empty());
}

TEST_CASE("bandwidth is advised only if it would be granted") {
  JobReport report = samples::input_bound();
  report.what_if.reset();
  CHECK(lines(report).size() == 1);
  SECTION("the pool's share is used up") {
    report.bandwidth.entitled_bytes_per_s =
        report.bandwidth.requested_bytes_per_s;
  }
  SECTION("the requested bandwidth is sufficient") {
    report.bandwidth.requested_bytes_per_s = 1e9;
  }
  SECTION("no bandwidth was requested") {
    report.bandwidth.requested_bytes_per_s.reset();
  }
  CHECK(lines(report).empty());
}

TEST_CASE("no more bandwidth is advised than the pool has") {
  JobReport report = samples::input_bound();
  report.what_if.reset();
  report.breakdown = make_breakdown({.wall_s = 100,
                                     .parts = {.compute = {{5.0}},
                                               .fetch_stall = {{95.0}},
                                               .prep_stall = {{0.0}}},
                                     .waited_s = 95.0});
  BandwidthFigures& bandwidth = report.bandwidth;
  bandwidth.demand_bytes_per_s = Estimate::exact(1e9);
  const double asked = *bandwidth.requested_bytes_per_s;
  bandwidth.used_bytes_per_s = asked;
  bandwidth.pool_bytes_per_s = 4 * asked;
  bandwidth.entitled_bytes_per_s = 3 * asked;
  const auto advice = recommend(report);
  REQUIRE(advice.size() == 1);
  CHECK(advice[0].lines[0] == "#SBATCH --loader-bw=100M");
  CHECK(advice[0].reason ==
        "the ceiling reads about 954M a second, and the job asked for 25M; the "
        "pool has 100M");
  CHECK(advice[0].gain->value == Approx(2));  // the entitlement
  CHECK(advice[0].gain->low == Approx(1.7));
}

TEST_CASE("for a cache that is too small the sufficient size is advised") {
  JobReport report = samples::input_bound();  // fetch 22%
  report.what_if.reset();
  report.bandwidth = {};
  report.cache = {0.5, 5000, 500e6, 0.5, 100 * 1048576.0};
  const auto advice = recommend(report);
  REQUIRE(advice.size() == 1);
  CHECK(advice[0].lines[0] == "--cache=200M");
  CHECK(advice[0].reason.find("holds 50% of the data set") !=
        std::string::npos);
  REQUIRE(advice[0].gain);
  CHECK(advice[0].gain->low == 0);
  CHECK(advice[0].gain->value == Approx(0.22 / 0.78).margin(0.01));
  report.cache.held_share = 1.0;
  CHECK(recommend(report).empty());
  report.cache = {};
  CHECK(recommend(report).empty());
}

TEST_CASE("a job that waits most for the exchange is advised a sparse one") {
  JobReport report = samples::exchange_bound();
  Breakdown parts = report.breakdown;
  const auto advice = recommend(report);
  REQUIRE(advice.size() == 1);
  CHECK(advice[0].lines[0] ==
        "penstock.exchange.MirrorTrainer(model, optimizer, density=0.01)");
  // 2 x 1.25 x 8 bytes an entry, of 2 x 4 an element: a fortieth of 30%.
  const double gone = 0.30 * 39 / 40;
  CHECK(advice[0].reason ==
        "ranks wait 30% of the time for the exchange of gradients; at density "
        "1% links carry 2.5% of what they do in a dense one, and the loader "
        "then has to supply up to 1.41 times as much");
  REQUIRE(advice[0].gain);
  CHECK(advice[0].gain->value == Approx(gone / (1 - gone)));
  CHECK(advice[0].gain->low == 0);
  SECTION("the wait for data is longer") { parts.parts.fetch_stall = {{91.0}}; }
  SECTION("a wait of unknown cause is longer") { parts.waited_s = 91.0; }
  SECTION("the job hardly waits for the exchange") {
    parts.parts.exchange_stall = {{14.0}};
  }
  SECTION("no exchange was reported") { parts.parts.exchange_stall = {}; }
  report.breakdown = make_breakdown(parts);
  CHECK(recommend(report).empty());
}

TEST_CASE("there are at most three pieces of advice") {
  JobReport report = samples::input_bound();
  report.cache = {0.5, 5000, 500e6, 0.5, 100 * 1048576.0};
  CHECK(recommend(report).size() <= 3);
}

}  // namespace
}  // namespace penstock
