// The simulator against the published one: Synergy's static trace of 100 jobs
// on 4 nodes of 8 GPUs, 24 cores and 500 GB, FIFO, rounds of 300 s.
#include <fstream>
#include <sstream>

#include "tests/unit/catch.h"
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

Outcome run(Policy policy, Placement placement = Placement::kPack) {
  TraceOptions trace_options;
  trace_options.profiles_json = fixture("profiles.json");
  const auto trace = parse_trace(fixture("static_100jobs.csv"), trace_options);
  REQUIRE(trace);
  Options options;
  options.policy = policy;
  options.placement = placement;
  const Result<Outcome> outcome = simulate(*trace, options, [](double) {});
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

TEST_CASE("penstock is faster than all of them, with memory held") {
  const Outcome outcome = run(Policy::kPenstock, Placement::kSpread);
  const Outcome tune = run(Policy::kTune);
  CHECK(outcome.makespan_s < tune.makespan_s);
  CHECK(outcome.mean_jct_s < tune.mean_jct_s);
  CHECK(outcome.min_rate_vs_floor >= 1 - 1e-9);
}

}  // namespace
}  // namespace penstock::simulate
