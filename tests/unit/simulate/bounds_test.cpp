#include "tools/simulate/bounds.h"

#include "tests/unit/catch.h"

namespace penstock::simulate {
namespace {

using Catch::Matchers::WithinRel;

TraceJob job(double iterations, int gpus,
             std::vector<allocator::MeasuredPoint> curve) {
  TraceJob job;
  job.iterations = iterations;
  job.gpus = gpus;
  job.curve = std::move(curve);
  job.ceiling = job.curve.back().rate;
  return job;
}

TEST_CASE("with many cores the bound is GPUs at their ceilings") {
  const ClusterSize size = {2, 4, 1000, 100};
  const std::vector<TraceJob> trace = {job(100, 4, {{1, 1}, {2, 2}}),
                                       job(50, 2, {{1, 0.5}})};
  CHECK_THAT(fluid_makespan_s(trace, size),
             WithinRel((200.0 + 200.0) / 8, 1e-9));
}

TEST_CASE("with few cores the bound is their cheapest use") {
  const ClusterSize size = {1, 100, 2, 100};
  // A core's first half of the rate costs 1, the second 3 more.
  const std::vector<TraceJob> trace = {job(100, 1, {{1, 1}, {4, 2}})};
  CHECK_THAT(fluid_makespan_s(trace, size), WithinRel(100.0 * 1 / 2, 1e-9));
}

TEST_CASE("between both limits a job mixes points of its curve") {
  const ClusterSize size = {1, 1, 2, 100};
  // One GPU, two cores: 2/3 of the time with 1 core, 1/3 with 4. The rate is
  // then 4/3 at full use of both.
  const std::vector<TraceJob> trace = {job(100, 1, {{1, 1}, {4, 2}})};
  CHECK_THAT(fluid_makespan_s(trace, size), WithinRel(75.0, 1e-6));
}

}  // namespace
}  // namespace penstock::simulate
