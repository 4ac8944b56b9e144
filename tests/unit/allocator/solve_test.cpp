#include <cmath>
#include <functional>
#include <limits>

#include "select_ext/allocator/problem.h"
#include "tests/unit/catch.h"

namespace penstock::allocator {
namespace {

constexpr Policy kAll[] = {Policy::kThroughput, Policy::kFair, Policy::kMaxMin};

// One sample/s per core, up to the ceiling.
Job linear_job(uint64_t id, double floor, double ceiling,
               double cores_per_rate = 1) {
  Job job;
  job.id = id;
  job.floor = floor;
  job.ceiling = ceiling;
  job.cores_curve = {{1, cores_per_rate}};
  return job;
}

// The demo's node: 2 cores, one promised to each job; a transformer that needs
// a third of its core and an alexnet that needs four.
Problem demo() {
  Problem problem;
  problem.cores = 2;
  problem.jobs = {linear_job(1, 1, 1, 1.0 / 3), linear_job(2, 0.25, 1, 4)};
  return problem;
}

TEST_CASE("under each objective, cores that one job leaves go to the other") {
  for (Policy objective : kAll) {
    const Result<Allocation> result = solve(demo(), objective);
    REQUIRE(result);
    REQUIRE(result->grants.size() == 2);
    CHECK(result->grants[0].id == 1);
    CHECK(result->grants[0].rate == Approx(1));
    CHECK(result->grants[0].cores == Approx(1.0 / 3));
    CHECK(result->grants[1].rate == Approx(5.0 / 12));
    CHECK(result->grants[1].cores == Approx(5.0 / 3));
  }
}

TEST_CASE("objectives match the formulas of the header") {
  Problem problem = demo();
  problem.jobs[1].weight = 3;
  const auto value = [&](Policy objective) {
    return solve(problem, objective)->objective;
  };
  CHECK(value(Policy::kThroughput) == Approx(1 + 3 * 5.0 / 12));
  CHECK(value(Policy::kFair) == Approx(3 * std::log(5.0 / 12)));
  CHECK(value(Policy::kMaxMin) == Approx(5.0 / 12));
}

TEST_CASE("no job gets more than its ceiling needs") {
  Problem problem = demo();
  problem.cores = 64;
  problem.jobs[0].bytes_per_rate = 100;
  for (Policy objective : kAll) {
    const Result<Allocation> result = solve(problem, objective);
    REQUIRE(result);
    CHECK(result->grants[0].cores == Approx(1.0 / 3));
    CHECK(result->grants[0].bytes_per_s == Approx(100));
    CHECK(result->grants[1].cores == Approx(4));
  }
}

TEST_CASE("max_cores caps a job, and the rest goes to others") {
  Problem problem;
  problem.cores = 4;
  problem.jobs = {linear_job(1, 0, 10), linear_job(2, 0, 10)};
  problem.jobs[0].max_cores = 1;
  for (Policy objective : kAll) {
    const Result<Allocation> result = solve(problem, objective);
    REQUIRE(result);
    CHECK(result->grants[0].cores == Approx(1));
    CHECK(result->grants[1].cores == Approx(3));
  }
}

TEST_CASE("throughput serves the best weighted gain per core") {
  Problem problem;
  problem.cores = 4;
  problem.jobs = {linear_job(1, 0, 4), linear_job(2, 0, 8)};
  CHECK(solve(problem, Policy::kThroughput)->grants[0].rate == Approx(4));
  problem.jobs[1].weight = 3;
  CHECK(solve(problem, Policy::kThroughput)->grants[1].rate == Approx(4));
}

// The solver moves such jobs in steps as small as their difference, then stops.
TEST_CASE("throughput loses little between jobs with almost equal gains") {
  for (double difference : {1e-3, 1e-5, 1e-8, 1e-11}) {
    Problem problem;
    problem.cores = 1;
    problem.jobs = {linear_job(1, 0, 1), linear_job(2, 0, 1)};
    problem.jobs[1].weight = 1 + difference;
    const Result<Allocation> result = solve(problem, Policy::kThroughput);
    REQUIRE(result);
    CHECK(result->grants[0].cores + result->grants[1].cores <= 1 + 1e-9);
    CHECK(result->objective > (1 + difference) * (1 - 2e-5));
  }
}

TEST_CASE("throughput fills the cheap pieces of every curve first") {
  Problem problem;
  problem.cores = 3;
  Job job = linear_job(1, 0, 4);
  job.cores_curve = {{2, 1}, {4, 5}};
  problem.jobs = {job, job};
  problem.jobs[1].weight = 1.5;
  const Result<Allocation> result = solve(problem, Policy::kThroughput);
  REQUIRE(result);
  CHECK(result->grants[0].rate == Approx(2));
  CHECK(result->grants[1].rate == Approx(2.5));
}

TEST_CASE("cores and bandwidth are solved together") {
  // Job 1 costs bandwidth, job 2 cores: both can be full only together.
  Problem problem;
  problem.cores = 2;
  problem.pools = {100};
  problem.jobs = {linear_job(1, 0, 1, 0.5), linear_job(2, 0, 1, 1.5)};
  problem.jobs[0].bytes_per_rate = 100;
  problem.jobs[0].pool = 0;
  for (Policy objective : kAll) {
    const Result<Allocation> result = solve(problem, objective);
    REQUIRE(result);
    CHECK(result->grants[0].rate == Approx(1));
    CHECK(result->grants[1].rate == Approx(1));
  }
}

TEST_CASE("ingest counts the bytes of all jobs, a pool those of its own jobs") {
  Problem problem;
  problem.cores = 200;
  problem.ingest_bytes_per_s = 120;
  problem.pools = {50, 1000};
  problem.jobs = {linear_job(1, 0, 100), linear_job(2, 0, 100),
                  linear_job(3, 0, 100)};
  for (Job& job : problem.jobs) job.bytes_per_rate = 1;
  problem.jobs[0].pool = 0;
  problem.jobs[1].pool = 0;
  problem.jobs[2].pool = 1;
  for (Policy objective : {Policy::kFair, Policy::kMaxMin}) {
    const Result<Allocation> result = solve(problem, objective);
    REQUIRE(result);
    CHECK(result->grants[0].rate == Approx(25));
    CHECK(result->grants[1].rate == Approx(25));
    CHECK(result->grants[2].rate == Approx(70));
  }
}

TEST_CASE(
    "fair divides a resource by weight, independent of the cost of a rate") {
  Problem problem;
  problem.cores = 8;
  problem.jobs = {linear_job(1, 0, 100, 1), linear_job(2, 0, 100, 5)};
  problem.jobs[0].weight = 3;
  const Result<Allocation> result = solve(problem, Policy::kFair);
  REQUIRE(result);
  CHECK(result->grants[0].cores == Approx(6));
  CHECK(result->grants[1].cores == Approx(2));
}

TEST_CASE("fair: a floor above the fair share reduces the others' shares") {
  Problem problem;
  problem.cores = 9;
  problem.jobs = {linear_job(1, 5, 100), linear_job(2, 0, 100),
                  linear_job(3, 1, 100)};
  const Result<Allocation> result = solve(problem, Policy::kFair);
  REQUIRE(result);
  CHECK(result->grants[0].rate == Approx(5));
  CHECK(result->grants[1].rate == Approx(2));
  CHECK(result->grants[2].rate == Approx(2));
}

TEST_CASE("max-min raises the lowest job first, then the others") {
  Problem problem;
  problem.cores = 10;
  problem.jobs = {linear_job(1, 0, 10), linear_job(2, 0, 10),
                  linear_job(3, 0, 10)};
  problem.jobs[0].max_cores = 1;  // stops at level 0.1
  problem.jobs[1].floor = 6;      // above the level that is reached
  const Result<Allocation> result = solve(problem, Policy::kMaxMin);
  REQUIRE(result);
  CHECK(result->grants[0].rate == Approx(1));
  CHECK(result->grants[1].rate == Approx(6));
  CHECK(result->grants[2].rate == Approx(3));
  CHECK(result->objective == Approx(0.1));
}

TEST_CASE("max-min ignores weights") {
  Problem problem;
  problem.cores = 6;
  problem.jobs = {linear_job(1, 0, 2), linear_job(2, 0, 10)};
  problem.jobs[0].weight = 100;
  const Result<Allocation> result = solve(problem, Policy::kMaxMin);
  REQUIRE(result);
  CHECK(result->grants[0].rate == Approx(1));
  CHECK(result->grants[1].rate == Approx(5));
}

TEST_CASE("max-min continues along a piece of zero cost") {
  Problem problem;
  problem.cores = 1;
  problem.jobs = {linear_job(1, 0, 4), linear_job(2, 0, 4)};
  problem.jobs[1].cores_curve = {{3, 0}, {4, 10}};
  const Result<Allocation> result = solve(problem, Policy::kMaxMin);
  REQUIRE(result);
  CHECK(result->grants[0].rate == Approx(1));
  CHECK(result->grants[1].rate == Approx(3));
}

TEST_CASE(
    "floors that fill a resource up to rounding errors fit and are kept") {
  Problem problem;
  problem.cores = 0.3;
  for (uint64_t id = 1; id <= 3; ++id) {
    problem.jobs.push_back(linear_job(id, 0.1, 1));  // 3 x 0.1 > 0.3
  }
  for (Policy objective : kAll) {
    const Result<Allocation> result = solve(problem, objective);
    REQUIRE(result);
    for (const Allocation::Grant& grant : result->grants) {
      CHECK(grant.rate == Approx(0.1).epsilon(1e-12));
    }
  }
}

TEST_CASE("a job shut out by others' floors has rate 0") {
  Problem problem;
  problem.cores = 1;
  problem.jobs = {linear_job(1, 1, 2), linear_job(2, 0, 2)};
  for (Policy objective : kAll) {
    const Result<Allocation> result = solve(problem, objective);
    REQUIRE(result);
    CHECK(result->grants[1].rate == 0);
    CHECK(result->grants[1].cores == 0);
  }
  CHECK(solve(problem, Policy::kFair)->objective == 0);  // log 1
}

TEST_CASE("a problem without jobs or without cores has a zero solution") {
  Problem problem;
  for (Policy objective : kAll) {
    CHECK(solve(problem, objective)->grants.empty());
    CHECK(solve(problem, objective)->objective == 0);
  }
  problem.jobs = {linear_job(1, 0, 1)};
  for (Policy objective : kAll) {
    CHECK(solve(problem, objective)->grants[0].rate == 0);
  }
}

TEST_CASE("the same problem gives the same answer each time") {
  Problem problem;
  problem.cores = 5;
  for (uint64_t id = 1; id <= 6; ++id) {
    problem.jobs.push_back(linear_job(id, 0, 2));  // ties everywhere
  }
  for (Policy objective : kAll) {
    const Result<Allocation> first = solve(problem, objective);
    const Result<Allocation> again = solve(problem, objective);
    for (size_t j = 0; j < problem.jobs.size(); ++j) {
      CHECK(first->grants[j].rate == again->grants[j].rate);
    }
  }
}

TEST_CASE("entitled_rate is bounded by cores, threads, bytes and the ceiling") {
  Job job = linear_job(1, 0, 10, 0.5);
  job.bytes_per_rate = 100;
  CHECK(entitled_rate(job, 2, INFINITY) == Approx(4));
  CHECK(entitled_rate(job, 2, 300) == Approx(3));
  CHECK(entitled_rate(job, 100, 1e9) == Approx(10));
  job.max_cores = 1;
  CHECK(entitled_rate(job, 2, INFINITY) == Approx(2));
  job.bytes_per_rate = 0;
  CHECK(entitled_rate(job, 2, 0) == Approx(2));
}

// ---- Errors ---------------------------------------------------------------

void check_error(const Problem& problem, Code code, const std::string& text) {
  for (Policy objective : kAll) {
    const Result<Allocation> result = solve(problem, objective);
    REQUIRE(!result);
    CHECK(result.error().code == code);
    CHECK(result.error().message == text);
  }
}

TEST_CASE("an invalid field of a job is refused by name") {
  const struct {
    std::function<void(Job&)> spoil;
    const char* message;
  } kCases[] = {
      {[](Job& j) { j.weight = 0; },
       "job 7: weight is 0, must be finite and over 0"},
      {[](Job& j) { j.weight = NAN; },
       "job 7: weight is nan, must be finite and over 0"},
      {[](Job& j) { j.ceiling = 0; },
       "job 7: ceiling is 0, must be finite and over 0"},
      {[](Job& j) { j.ceiling = INFINITY; },
       "job 7: ceiling is inf, must be finite and over 0"},
      {[](Job& j) { j.floor = -1; },
       "job 7: floor is -1, must be from 0 to the ceiling"},
      {[](Job& j) { j.floor = 3; },
       "job 7: floor is 3, must be from 0 to the ceiling"},
      {[](Job& j) { j.floor = NAN; },
       "job 7: floor is nan, must be from 0 to the ceiling"},
      {[](Job& j) { j.bytes_per_rate = -5; },
       "job 7: bytes_per_rate is -5, must be finite and at least 0"},
      {[](Job& j) { j.max_cores = -1; },
       "job 7: max_cores is -1, must be at least 0"},
      {[](Job& j) { j.max_cores = NAN; },
       "job 7: max_cores is nan, must be at least 0"},
      {[](Job& j) { j.pool = 1; },
       "job 7: pool is 1, there are 1 pools and -1 is none"},
      {[](Job& j) { j.pool = -2; },
       "job 7: pool is -2, there are 1 pools and -1 is none"},
  };
  for (const auto& test : kCases) {
    Problem problem;
    problem.cores = 1;
    problem.pools = {1};
    problem.jobs = {linear_job(7, 0, 2)};
    test.spoil(problem.jobs[0]);
    check_error(problem, Code::kInvalidArgument, test.message);
  }
}

TEST_CASE("an invalid cost curve is refused with the point") {
  using Curve = std::vector<Job::Point>;
  const struct {
    Curve curve;
    const char* message;
  } kCases[] = {
      {{}, "job 7: cores_curve has no point with a rate over 0"},
      {{{0, 0}}, "job 7: cores_curve has no point with a rate over 0"},
      {{{0, 1}, {1, 2}},
       "job 7: cores_curve[0] (0 samples/s, 1 cores) does not ascend in rate"},
      {{{2, 1}, {1, 2}},
       "job 7: cores_curve[1] (1 samples/s, 2 cores) does not ascend in rate"},
      {{{1, 2}, {2, 1}},
       "job 7: cores_curve[1] (2 samples/s, 1 cores) falls in cores"},
      {{{1, -2}},
       "job 7: cores_curve[0] (1 samples/s, -2 cores) falls in cores"},
      {{{1, 2}, {2, 3}},
       "job 7: cores_curve[1] (2 samples/s, 3 cores) is not convex: use "
       "concave_hull first"},
      {{{1, NAN}},
       "job 7: cores_curve[0] (1 samples/s, nan cores) is not finite"},
  };
  for (const auto& test : kCases) {
    Problem problem;
    problem.cores = 1;
    problem.jobs = {linear_job(7, 0, 2)};
    problem.jobs[0].cores_curve = test.curve;
    check_error(problem, Code::kInvalidArgument, test.message);
  }
}

TEST_CASE("an invalid capacity is refused by name") {
  Problem problem;
  problem.cores = -1;
  check_error(problem, Code::kInvalidArgument,
              "cores is -1, must be finite and at least 0");
  problem.cores = 1;
  problem.ingest_bytes_per_s = NAN;
  check_error(problem, Code::kInvalidArgument,
              "ingest_bytes_per_s is nan, must be finite and at least 0");
  problem.ingest_bytes_per_s = 0;
  problem.pools = {5, 0};
  check_error(problem, Code::kInvalidArgument,
              "pools[1] is 0, must be finite and over 0");
}

TEST_CASE("an objective out of range is refused") {
  const auto result = solve(demo(), static_cast<Policy>(9));
  REQUIRE(!result);
  CHECK(result.error().code == Code::kInvalidArgument);
}

TEST_CASE("floors that do not fit are refused with the resource") {
  Problem problem;
  problem.cores = 1;
  problem.jobs = {linear_job(7, 1, 2), linear_job(8, 0.5, 2)};
  check_error(problem, Code::kInfeasible,
              "cores: the floors need 1.5, there is 1");

  problem.cores = 8;
  for (Job& job : problem.jobs) job.bytes_per_rate = 100;
  problem.ingest_bytes_per_s = 120;
  check_error(problem, Code::kInfeasible,
              "ingest_bytes_per_s: the floors need 150, there is 120");

  problem.ingest_bytes_per_s = 0;
  problem.pools = {1000, 40};
  problem.jobs[1].pool = 1;
  check_error(problem, Code::kInfeasible,
              "pools[1]: the floors need 50, there is 40");

  problem.pools[1] = 400;
  problem.jobs[0].max_cores = 0.5;
  check_error(problem, Code::kInfeasible,
              "job 7: its floor needs 1 cores, max_cores is 0.5");
}

}  // namespace
}  // namespace penstock::allocator
