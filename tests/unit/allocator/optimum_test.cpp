// bench/optimum: reading a problem as JSON, and Clp's answer to it.
#include <nlohmann/json.hpp>

#include "bench/optimum/clp_model.h"
#include "bench/optimum/problem_json.h"
#include "tests/unit/catch.h"

namespace penstock::optimum {
namespace {

using allocator::Allocation;
using allocator::Problem;

constexpr const char* kFull = R"({
  "cores": 2, "ingest_bytes_per_s": 1e9, "pools": [2e8, 5e7],
  "jobs": [{"id": 7, "weight": 2, "floor": 0.5, "ceiling": 3,
            "cores_curve": [{"rate": 1, "cores": 0.5}, {"rate": 3, "cores": 2}],
            "bytes_per_rate": 1000, "pool": 1, "max_cores": 4},
           {"ceiling": 1, "cores_curve": [{"rate": 1, "cores": 1}]}]})";

TEST_CASE(
    "every given field of a problem is read, the others keep their default") {
  const Result<Problem> problem = parse_problem(kFull);
  REQUIRE(problem);
  CHECK(problem->cores == 2);
  CHECK(problem->ingest_bytes_per_s == 1e9);
  CHECK(problem->pools == std::vector<double>{2e8, 5e7});
  REQUIRE(problem->jobs.size() == 2);
  const allocator::Job& job = problem->jobs[0];
  CHECK(job.id == 7);
  CHECK(job.weight == 2);
  CHECK(job.floor == 0.5);
  CHECK(job.ceiling == 3);
  REQUIRE(job.cores_curve.size() == 2);
  CHECK(job.cores_curve[1].rate == 3);
  CHECK(job.cores_curve[1].cores == 2);
  CHECK(job.bytes_per_rate == 1000);
  CHECK(job.pool == 1);
  CHECK(job.max_cores == 4);
  CHECK(problem->jobs[1].weight == 1);
  CHECK(problem->jobs[1].pool == -1);
  CHECK(problem->jobs[1].max_cores == 1e9);
}

TEST_CASE("an unreadable problem is refused with its field") {
  const char* cases[][2] = {
      {"{", "the problem is not JSON"},
      {"[]", R"("" is not an object)"},
      {"{}", R"("cores" is missing)"},
      {R"({"cores": "2", "jobs": []})", R"("cores" has the wrong type)"},
      {R"({"cores": 2, "jobs": {}})", R"("jobs" has the wrong type)"},
      {R"({"cores": 2, "jobs": [], "colour": 1})",
       R"("colour" is not a field)"},
      {R"({"cores": 2, "pools": [1, null], "jobs": []})",
       R"("pools[1]" is not a number)"},
      {R"({"cores": 2, "jobs": [3]})", R"("jobs[0]." is not an object)"},
      {R"({"cores": 2, "jobs": [{"cores_curve": []}]})",
       R"("jobs[0].ceiling" is missing)"},
      {R"({"cores": 2, "jobs": [{"ceiling": 1, "cores_curve": [], "id": -1}]})",
       R"("jobs[0].id" has the wrong type)"},
      {R"({"cores": 2, "jobs": [{"ceiling": 1, "cores_curve": [],
           "pool": 99999999999}]})",
       R"("jobs[0].pool" is out of range)"},
      {R"({"cores": 2, "jobs": [{"ceiling": 1,
           "cores_curve": [{"rate": 1}]}]})",
       R"("jobs[0].cores_curve[0].cores" is missing)"},
  };
  for (const auto& [text, message] : cases) {
    const Result<Problem> problem = parse_problem(text);
    INFO(text);
    REQUIRE(!problem);
    CHECK(problem.error().code == Code::kInvalidArgument);
    CHECK(problem.error().message == message);
  }
}

TEST_CASE("Clp's optimum equals that of a problem solved by hand") {
  // Job 1 gains 1 per core, job 2 0.5: job 1 takes all but job 2's floor.
  const Result<Problem> problem = parse_problem(R"({"cores": 2, "jobs": [
    {"id": 1, "ceiling": 4, "cores_curve": [{"rate": 4, "cores": 4}],
     "weight": 4},
    {"id": 2, "ceiling": 1, "floor": 0.25, "weight": 2,
     "cores_curve": [{"rate": 1, "cores": 4}]}]})");
  REQUIRE(problem);
  const Result<Allocation> optimum = throughput_optimum(*problem);
  REQUIRE(optimum);
  CHECK(optimum->grants[0].rate == Approx(1));
  CHECK(optimum->grants[0].cores == Approx(1));
  CHECK(optimum->grants[1].rate == Approx(0.25));
  CHECK(optimum->grants[1].cores == Approx(1));
  CHECK(optimum->objective == Approx(1.5));
}

TEST_CASE("an invalid or infeasible problem has no optimum") {
  Result<Problem> problem = parse_problem(kFull);
  REQUIRE(problem);
  problem->jobs[0].max_cores = 0.1;  // the floor needs 0.25
  CHECK(throughput_optimum(*problem).error().code == Code::kInfeasible);
  problem->cores = -1;
  CHECK(throughput_optimum(*problem).error().code == Code::kInvalidArgument);
}

TEST_CASE("the answer is printed as valid JSON with all fields") {
  Allocation optimum;
  optimum.objective = 1.5;
  optimum.grants = {{7, 0.1, 0.25, 1e6}};
  const auto document = nlohmann::json::parse(to_json(optimum, "Clp 1.17.6"));
  CHECK(document["solver"] == "Clp 1.17.6");
  CHECK(document["objective"] == 1.5);
  REQUIRE(document["grants"].size() == 1);
  CHECK(document["grants"][0]["id"] == 7);
  CHECK(document["grants"][0]["rate"] == 0.1);
  CHECK(document["grants"][0]["cores"] == 0.25);
  CHECK(document["grants"][0]["bytes_per_s"] == 1e6);
}

}  // namespace
}  // namespace penstock::optimum
