// The simulator against the published one: Synergy's static trace of 100 jobs
// on 4 nodes of 8 GPUs, 24 cores and 500 GB, FIFO, with rounds of 300 s for the
// published policies.
#include <fstream>
#include <sstream>

#include "tests/unit/catch.h"
#include "tools/simulate/bounds.h"
#include "tools/simulate/simulation.h"

namespace penstock::simulate {
namespace {

using Catch::Matchers::WithinRel;

constexpr double kHour_s = 3600;

std::string fixture(const char* name) {
  std::ifstream file(std::string(PENSTOCK_FIXTURES "/synergy/") + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<TraceJob> trace() {
  TraceOptions options;
  options.profiles_json = fixture("profiles.json");
  auto trace = parse_trace(fixture("static_100jobs.csv"), options);
  REQUIRE(trace);
  return *trace;
}

Outcome run(Policy policy, double round_s = 300,
            Placement placement = Placement::kPack) {
  Options options;
  options.policy = policy;
  options.round_s = round_s;
  options.placement = placement;
  const Result<Outcome> outcome = simulate(trace(), options, [](double) {});
  REQUIRE(outcome);
  return *outcome;
}

TEST_CASE("the published makespans are reproduced within 3%") {
  CHECK_THAT(run(Policy::kProportional).makespan_s / kHour_s,
             WithinRel(15.25, 0.03));
  CHECK_THAT(run(Policy::kGreedy).makespan_s / kHour_s, WithinRel(12.33, 0.03));
  const Outcome tune = run(Policy::kTune);
  CHECK_THAT(tune.makespan_s / kHour_s, WithinRel(11.00, 0.03));
  CHECK_THAT(tune.mean_jct_s / kHour_s, WithinRel(5.08, 0.03));
}

// Bounds published for the same trace.
TEST_CASE("the bounds equal the published ones") {
  CHECK_THAT(run(Policy::kCeiling, 0).makespan_s / kHour_s,
             WithinRel(9.23, 0.001));
  CHECK_THAT(fluid_makespan_s(trace(), ClusterSize{}) / kHour_s,
             WithinRel(7.82, 0.001));
}

TEST_CASE("penstock is faster than TUNE and keeps every floor") {
  const Outcome tune = run(Policy::kTune);
  for (Placement placement : {Placement::kPack, Placement::kSpread}) {
    for (double round_s : {0.0, 300.0}) {
      const Outcome outcome = run(Policy::kPenstock, round_s, placement);
      CHECK(outcome.makespan_s < tune.makespan_s);
      CHECK(outcome.mean_jct_s < tune.mean_jct_s);
      CHECK(outcome.min_rate_vs_floor >= 1 - 1e-9);
    }
  }
}

TEST_CASE("penstock packed meets its targets: 10.5 h and 4.70 h") {
  const Outcome outcome = run(Policy::kPenstock, 0);
  CHECK(outcome.makespan_s / kHour_s <= 10.5);
  CHECK(outcome.mean_jct_s / kHour_s <= 4.70);
}

}  // namespace
}  // namespace penstock::simulate
