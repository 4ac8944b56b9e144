#include "tools/simulate/simulation.h"

#include <algorithm>

#include "tests/unit/catch.h"
#include "tools/simulate/figure.h"

namespace penstock::simulate {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;

// Needs `cores` for its ceiling of one iteration a second.
TraceJob job(uint64_t id, double arrival_s, double iterations, int gpus,
             double cores) {
  TraceJob job;
  job.id = id;
  job.model = "net";
  job.arrival_s = arrival_s;
  job.iterations = iterations;
  job.gpus = gpus;
  job.curve = {{cores, 1}};
  job.ceiling = 1;
  return job;
}

// The same job with the fields that Synergy's policies need.
TraceJob synergy_job(uint64_t id, double cores, double speedup) {
  TraceJob it = job(id, 0, 600, 1, cores);
  it.full = {cores, 10, speedup};
  it.fair_rate = 1 / speedup;
  return it;
}

Options options(int nodes, int gpus, double cores) {
  Options options;
  options.size = {nodes, gpus, cores, 100};
  options.round_s = 0;
  return options;
}

Outcome run(const std::vector<TraceJob>& trace, const Options& options) {
  Result<Outcome> outcome = simulate(trace, options, [](double) {});
  INFO((outcome ? "" : outcome.error().message));
  REQUIRE(outcome);
  return *outcome;
}

TEST_CASE("a job that fits runs at its ceiling until it has ended") {
  const Outcome outcome = run({job(1, 5, 100, 1, 2)}, options(1, 1, 4));
  CHECK_THAT(outcome.jobs[0].start_s, WithinRel(5.0));
  CHECK_THAT(outcome.jobs[0].end_s, WithinRel(105.0));
  CHECK_THAT(outcome.makespan_s, WithinRel(100.0));
  CHECK_THAT(outcome.gpu_s_held, WithinRel(100.0));
  CHECK(outcome.gpu_s_stalled < 1e-6);
}

TEST_CASE(
    "jobs wait for GPUs in order of arrival, and smaller ones pass them") {
  const Outcome outcome =
      run({job(1, 0, 100, 1, 1), job(2, 1, 100, 2, 1), job(3, 2, 10, 1, 1)},
          options(1, 2, 8));
  CHECK_THAT(outcome.jobs[2].start_s, WithinRel(2.0));
  CHECK_THAT(outcome.jobs[1].start_s, WithinRel(100.0));
}

TEST_CASE(
    "with shortest first the job with the least remaining time starts first") {
  Options srtf = options(1, 1, 8);
  const std::vector<TraceJob> trace = {
      job(1, 0, 10, 1, 1), job(2, 1, 100, 1, 1), job(3, 2, 20, 1, 1)};
  CHECK(run(trace, srtf).jobs[1].start_s < 11);
  srtf.order = Order::kSrtf;
  CHECK_THAT(run(trace, srtf).jobs[1].start_s, WithinRel(30.0));
}

TEST_CASE("jobs end at the end of a round") {
  Options rounds = options(1, 1, 4);
  rounds.round_s = 30;
  const Outcome outcome = run({job(1, 0, 100, 1, 2)}, rounds);
  CHECK_THAT(outcome.jobs[0].end_s, WithinRel(121.0));  // from second 1 on
}

TEST_CASE("EVEN divides a node's cores by jobs, PROPORTIONAL by GPUs") {
  // 8 cores and 4 GPUs: one job with 3 GPUs, one with 1; both need 4 per GPU.
  const std::vector<TraceJob> trace = {job(1, 0, 100, 3, 4),
                                       job(2, 0, 100, 1, 4)};
  Options it = options(1, 4, 8);
  it.policy = Policy::kEven;  // 4 cores each: 4/3 a GPU, 4 a GPU
  CHECK_THAT(run(trace, it).jobs[1].jct_s, WithinRel(100.0));
  it.policy = Policy::kProportional;  // 2 a GPU
  CHECK_THAT(run(trace, it).jobs[0].jct_s, WithinRel(200.0));
  CHECK_THAT(run(trace, it).jobs[1].jct_s, WithinRel(200.0));
}

TEST_CASE("penstock moves a job's unused cores to another job") {
  // 2 cores a GPU; one needs 1, the other 3.
  const std::vector<TraceJob> trace = {job(1, 0, 100, 1, 1),
                                       job(2, 0, 100, 1, 3)};
  const Outcome outcome = run(trace, options(1, 2, 4));
  CHECK(outcome.jobs[1].jct_s < 101);
  CHECK(outcome.min_rate_vs_floor >= 1 - 1e-9);
}

TEST_CASE("floors hold for any prediction error") {
  std::vector<TraceJob> trace;
  for (uint64_t i = 1; i <= 40; ++i) {
    trace.push_back(job(i, static_cast<double>(i), 50 + 10.0 * (i % 7),
                        1 + static_cast<int>(i % 3),
                        0.5 + static_cast<double>(i % 5)));
  }
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Options wrong = options(4, 4, 8);
    wrong.prediction_error = 10;
    wrong.seed = seed;
    CHECK(run(trace, wrong).min_rate_vs_floor >= 1 - 1e-9);
  }
}

TEST_CASE("a job's prediction error is the same in all rounds") {
  Options wrong = options(1, 2, 4);
  wrong.round_s = 100;
  wrong.prediction_error = 10;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    wrong.seed = seed;
    const Outcome outcome = run({job(1, 0, 500, 1, 4)}, wrong);
    REQUIRE(outcome.samples.size() >= 5);
    for (const Sample& sample : outcome.samples) {
      CHECK(sample.gpus_busy == outcome.samples.front().gpus_busy);
    }
  }
}

TEST_CASE("pack uses the fewest nodes, spread the least loaded") {
  Occupancy packed({3, 4, 12, 100});
  REQUIRE(packed.place(2, 1, Placement::kPack).at(0).node == 0);
  REQUIRE(packed.place(2, 1, Placement::kPack).at(0).node == 0);
  REQUIRE(packed.place(8, 1, Placement::kPack).size() == 2);
  CHECK(packed.free_gpus() == 0);
  Occupancy spread({3, 4, 12, 100});
  CHECK(spread.place(3, 1, Placement::kSpread).size() == 3);
  (void)spread.place(1, 9, Placement::kSpread);
  CHECK(spread.place(1, 1, Placement::kSpread).at(0).node == 1);
}

TEST_CASE("a round shorter than an iteration is refused") {
  Options rounds = options(1, 1, 8);
  rounds.round_s = 0.5;
  const auto outcome = simulate({job(7, 0, 10, 1, 1)}, rounds, [](double) {});
  REQUIRE_FALSE(outcome);
  CHECK_THAT(
      outcome.error().message,
      ContainsSubstring(
          "job 7: 1 iterations/s are less than one iteration in a round of "
          "0.5 s; choose a longer --round"));
}

TEST_CASE("jobs that start together are placed by demand, the largest first") {
  // In order of arrival one node would have 1 and 3 cores, the other 2 and 4.
  Options balanced = options(2, 2, 5);
  balanced.placement = Placement::kSpread;
  const Outcome outcome = run({job(1, 0, 100, 1, 1), job(2, 0, 100, 1, 2),
                               job(3, 0, 100, 1, 3), job(4, 0, 100, 1, 4)},
                              balanced);
  CHECK_THAT(outcome.makespan_s, WithinRel(100.0));
  CHECK(outcome.gpu_s_stalled < 1e-6);
}

TEST_CASE("GREEDY skips a job whose full demand does not fit") {
  const std::vector<TraceJob> trace = {synergy_job(1, 5, 2),
                                       synergy_job(2, 5, 2)};
  const auto running = synergy_round({&trace[0], &trace[1]}, {1, 2, 6, 100},
                                     SynergyPolicy::kGreedy);
  REQUIRE(running.size() == 1);
  CHECK_THAT(running[0].rate, WithinRel(1.0));
}

TEST_CASE("TUNE cuts a job that does not fit, then its peer") {
  const std::vector<TraceJob> trace = {synergy_job(1, 5, 2),
                                       synergy_job(2, 5, 2)};
  const auto running = synergy_round({&trace[0], &trace[1]}, {1, 2, 6, 100},
                                     SynergyPolicy::kTune);
  REQUIRE(running.size() == 2);
  CHECK_THAT(running[0].rate, WithinRel(0.5));
  CHECK_THAT(running[1].rate, WithinRel(0.5));
}

TEST_CASE("TUNE keeps a peer's demand if both demands fit") {
  const std::vector<TraceJob> trace = {synergy_job(1, 5, 2),
                                       synergy_job(2, 5, 2)};
  const auto running = synergy_round({&trace[0], &trace[1]}, {1, 2, 8, 100},
                                     SynergyPolicy::kTune);
  REQUIRE(running.size() == 2);
  CHECK_THAT(running[0].rate, WithinRel(0.5));  // 4 + 5 > 8: both are cut
  const auto roomy = synergy_round({&trace[0], &trace[1]}, {1, 2, 10, 100},
                                   SynergyPolicy::kTune);
  CHECK_THAT(roomy[0].rate, WithinRel(1.0));
}

TEST_CASE("invalid traces and options are refused") {
  const auto message = [](const std::vector<TraceJob>& trace,
                          const Options& options) {
    const Result<Outcome> outcome = simulate(trace, options, [](double) {});
    REQUIRE(!outcome);
    return outcome.error().message;
  };
  CHECK_THAT(message({job(1, 0, 1, 3, 1)}, options(1, 2, 4)),
             ContainsSubstring("job 1: needs 3 GPUs, the cluster has 2"));
  Options tune = options(1, 2, 4);
  tune.policy = Policy::kTune;
  CHECK_THAT(message({job(1, 0, 1, 1, 1)}, tune), ContainsSubstring("--round"));
  tune.round_s = 300;
  CHECK_THAT(message({job(1, 0, 1, 1, 1)}, tune),
             ContainsSubstring("Synergy's profiles"));
}

TEST_CASE("the chart of a run is XML with both areas") {
  const Outcome outcome =
      run({job(1, 5, 100, 1, 2), job(2, 5, 40, 1, 9)}, options(1, 2, 4));
  const std::string svg = utilisation_svg(outcome, "a <b>");
  CHECK_THAT(svg, ContainsSubstring("a &lt;b&gt;"));
  CHECK(std::count(svg.begin(), svg.end(), 'Z') == 2);
  CHECK_THAT(svg, ContainsSubstring("</svg>"));
}

}  // namespace
}  // namespace penstock::simulate
