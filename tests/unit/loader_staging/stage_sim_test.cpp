// The protocol of a share under thousands of schedules, with jobs that are
// killed, stopped, late or slow between any two steps.
#include "tests/unit/loader_staging/stage_sim.h"

#include <cstdlib>
#include <iostream>

using namespace penstock;
using namespace penstock::test;

namespace {

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

SimOptions options_of(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto one_of = [&](std::initializer_list<uint64_t> values) {
    return *(values.begin() + random() % values.size());
  };
  SimOptions options;
  options.seed = seed;
  options.jobs = int(one_of({2, 3}));
  options.threads = int(one_of({1, 1, 2}));
  options.deaths = int(random() % uint64_t(options.jobs));
  options.late_jobs = int(random() % uint64_t(options.jobs));
  options.shape.batches_per_epoch = one_of({1, 2, 3});
  options.shape.window = uint32_t(one_of({2, 3}));
  options.shape.buffers = options.shape.window + uint32_t(one_of({1, 2, 4}));
  // From time-outs that many jobs exceed to those that none exceeds.
  const uint64_t scale = one_of({1, 3, 10, 30, 1'000'000});
  options.times = {20 * scale, 30 * scale, 300 * scale};
  return options;
}

}  // namespace

TEST_CASE("a share keeps its guarantees under every schedule") {
  const uint64_t first = number_from("PENSTOCK_SIM_SEED", 1);
  const uint64_t schedules = number_from("PENSTOCK_SIM_SCHEDULES", 3000);
  SimResult all;
  StageCase folder;
  for (uint64_t seed = first; seed < first + schedules; ++seed) {
    const SimResult result = StageSim(folder, options_of(seed)).run();
    INFO("PENSTOCK_SIM_SEED=" << seed << " PENSTOCK_SIM_SCHEDULES=1");
    REQUIRE(result.wrong == "");
    all.steps += result.steps;
    all.taken_over += result.taken_over;
    all.put_out += result.put_out;
    all.alone_epochs += result.alone_epochs;
    all.lost_claims += result.lost_claims;
    all.left_claims += result.left_claims;
  }
  std::cout << schedules << " schedules from seed " << first << ": "
            << all.steps << " steps, " << all.taken_over
            << " claims taken over, " << all.lost_claims << " of them of "
            << "the living, " << all.put_out << " jobs put out, "
            << all.alone_epochs << " epochs ended alone\n";
  if (schedules < 1000) return;
  CHECK(all.taken_over > 0);
  CHECK(all.lost_claims > 0);
  CHECK(all.left_claims > 0);
  CHECK(all.put_out > 0);
  CHECK(all.alone_epochs > 0);
}

TEST_CASE("the same seed gives the same schedule") {
  StageCase folder;
  for (uint64_t seed = 1; seed < 20; ++seed) {
    const SimResult one = StageSim(folder, options_of(seed)).run();
    const SimResult two = StageSim(folder, options_of(seed)).run();
    CHECK(one.steps == two.steps);
    CHECK(one.taken_over == two.taken_over);
    CHECK(one.alone_epochs == two.alone_epochs);
  }
}
