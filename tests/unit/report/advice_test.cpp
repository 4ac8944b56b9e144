#include "report/advice.h"

#include "samples.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

std::vector<std::string> lines(const JobReport& report) {
  std::vector<std::string> out;
  for (const Recommendation& advice : recommend(report)) {
    out.push_back(advice.line);
  }
  return out;
}

JobReport only_prep_bound() {
  JobReport out = samples::input_bound();
  out.bandwidth = {};
  out.cores.loader_threads = 8;
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
  JobReport report = only_prep_bound();
  report.breakdown = make_breakdown({.wall_s = 100,
                                     .parts = {.compute = {{55.0}},
                                               .fetch_stall = {{0.0}},
                                               .prep_stall = {{45.0}}},
                                     .waited_s = 1.0,
                                     .contention_s = 44.0});
  report.cores.allocated = 1;
  report.cores.reserve = 0.5;
  report.cores.used_trainer = 0.5;
  report.cores.demand = Estimate{0.9, 0.85, 0.95};
  CHECK(verdict(report) ==
        "Input-bound: 45% of step time waits for data, or for CPUs that the "
        "loader uses (fetch 0%, prep 45%, of it 44% CPU contention of trainer "
        "and loader)");
  const auto advice = recommend(report);
  REQUIRE(advice.size() == 1);
  CHECK(advice[0].line == "#SBATCH --cpus-per-task=2");
  CHECK(advice[0].reason ==
        "the ceiling needs about 0.90 loader cores and the trainer 0.90; Slurm "
        "gave 1.00, where the trainer waits 44% of the time for a CPU that its "
        "own loader uses");
}

TEST_CASE(
    "a busy job with an unrecognised loader is advised to set --loader-match") {
  JobReport report = samples::unknown();
  CHECK(recommend(report).empty());  // nothing is known of its CPUs
  report.cores.allocated = 2;
  report.cores.used_trainer = 1.9;
  auto advice = recommend(report);
  REQUIRE(advice.size() == 1);
  CHECK(advice[0].line == "#SBATCH --loader-match=PATTERN");
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
  std::vector<Recommendation> list = recommend(samples::input_bound());
  REQUIRE(list.size() == 3);
  CHECK(list[0].line == "#SBATCH --loader-bw=37M");
  CHECK(list[0].gain->value == Approx(0.22 / 0.78));
  CHECK(list[1].line == "#SBATCH --cpus-per-task=4");
  CHECK(list[1].gain->high == Approx(0.09 / 0.91));
  CHECK(list[1].gain->low < list[1].gain->value);
  CHECK(list[2].line == "#SBATCH --loader-threads=4");
  CHECK(list[2].gain->low == 0);
}

TEST_CASE("an unmodified program is advised on its number of workers") {
  JobReport report = samples::input_bound();
  report.quality.counted = Counted::kHook;
  const Recommendation advice = recommend(report)[2];
  CHECK(advice.line == "num_workers=4");
  CHECK(advice.reason.find("hold this job back, 4 would feed it") !=
        std::string::npos);
}

TEST_CASE("advised loader threads leave the trainer its reserve") {
  JobReport report = samples::input_bound();
  report.cores.allocated = 8;
  report.cores.entitled = 2;
  report.cores.reserve = 6;
  REQUIRE(recommend(report).size() == 3);
  // 4 would do for the demand, but the trainer needs 6 of 8.
  CHECK(recommend(report)[2].line == "#SBATCH --loader-threads=8");
}

TEST_CASE("a gain counts only the cores that the advice adds") {
  JobReport report = only_prep_bound();
  report.breakdown = make_breakdown({.wall_s = 100,
                                     .parts = {.compute = {{50.0}},
                                               .fetch_stall = {{0.0}},
                                               .prep_stall = {{50.0}}},
                                     .waited_s = 50.0});
  report.cores.demand = Estimate{3.6, 3.0, 7.8};
  std::vector<Recommendation> list = recommend(report);
  REQUIRE(list.size() == 1);
  CHECK(list[0].gain->value == Approx(1.0));
  CHECK(list[0].gain->low == Approx(0.0).margin(1e-9));  // 3.9 of 7.8 cores
}

TEST_CASE("a job with spare CPUs is advised the sufficient number") {
  std::vector<Recommendation> list = recommend(samples::wasteful());
  REQUIRE(list.size() == 1);
  CHECK(list[0].line == "#SBATCH --cpus-per-task=2");  // (2.7 + 0.4) / 2 tasks
  CHECK_FALSE(list[0].gain);
}

TEST_CASE("a loader without reported times is judged by its CPU use") {
  JobReport report = samples::input_bound();
  report.cores.loader_threads = 8;
  SECTION("the job waits and uses its cores fully") {
    report.breakdown = make_breakdown(
        {.wall_s = 100, .parts = {.compute = {{50.0}}}, .waited_s = 50.0});
    REQUIRE(lines(report).size() == 1);
    CHECK(lines(report)[0] == "#SBATCH --cpus-per-task=4");
  }
  SECTION("the job waits and leaves cores unused") {
    report.breakdown = make_breakdown(
        {.wall_s = 100, .parts = {.compute = {{50.0}}}, .waited_s = 50.0});
    report.cores.used_home = 0.2;
    CHECK(lines(report).empty());
  }
  SECTION("the job hardly waits and has spare CPUs") {
    report.breakdown = make_breakdown(
        {.wall_s = 100, .parts = {.compute = {{99.0}}}, .waited_s = 1.0});
    report.cores.allocated = 8;
    REQUIRE(lines(report).size() == 1);
    CHECK(lines(report)[0] == "#SBATCH --cpus-per-task=5");
  }
}

TEST_CASE("without evidence nothing is recommended") {
  JobReport report = samples::input_bound();
  SECTION("the run was too short") {
    report.end_unix_s = report.start_unix_s + report.recommend_after_s - 1;
  }
  SECTION("the job's figures are contradictory") {
    report.quality.pages_contradicted = true;
  }
  SECTION("demand is unknown") {
    report.cores.demand.reset();
    report.bandwidth.demand_bytes_per_s.reset();
  }
  SECTION("the job does not wait, and its CPUs match the demand") {
    report.breakdown = make_breakdown({.wall_s = 312,
                                       .parts = {.compute = {{312.0}},
                                                 .fetch_stall = {{0.0}},
                                                 .prep_stall = {{0.0}}},
                                       .waited_s = 0.0});
    report.cores.allocated = 4;
  }
  SECTION("stalls are unknown") {
    report.breakdown = make_breakdown({.wall_s = 312});
    report.cores.allocated = 64;
  }
  CHECK(lines(report).empty());
}

TEST_CASE("bandwidth is advised only if it would be granted") {
  JobReport report = samples::input_bound();
  report.cores.demand.reset();
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

TEST_CASE("advice for extreme figures stays within the options' ranges") {
  JobReport report = only_prep_bound();
  report.cores.demand = Estimate{1e18, 1e17, 1e18};
  REQUIRE(lines(report).size() >= 1);
  for (const std::string& line : lines(report)) {
    CHECK(line.find("=4096") != std::string::npos);
  }
  report.tasks = 0;
  CHECK(lines(report).empty());
}

TEST_CASE("for a cache that is too small the sufficient size is advised") {
  JobReport report = samples::input_bound();  // fetch 22%
  report.cores = {};
  report.bandwidth = {};
  report.cache = {0.5, 5000, 500e6, 0.5, 100 * 1048576.0};
  const auto advice = recommend(report);
  REQUIRE(advice.size() == 1);
  CHECK(advice[0].line == "--cache=200M");
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
  CHECK(advice[0].line ==
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
