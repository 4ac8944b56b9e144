#include "tools/policy/waste.h"

#include "tests/unit/catch.h"
#include "tests/unit/policy/runs.h"

using namespace penstock;
using namespace penstock::policy;

namespace {

std::vector<Waste> wastes(const JobRecord& job, const Rules& rules = {}) {
  std::vector<Waste> out;
  for (const Finding& it : findings_of(job, rules)) out.push_back(it.waste);
  return out;
}

using Wastes = std::vector<Waste>;

}  // namespace

TEST_CASE("a run that uses what it holds is not told") {
  CHECK(wastes(run_of(1)).empty());
}

TEST_CASE("a run with a GPU without a kernel for two hours is told") {
  JobRecord job = idle(run_of(1));
  CHECK(wastes(job) == Wastes{Waste::kIdleGpus});
  const Finding found = findings_of(job, {}).front();
  CHECK(found.wasted_h == Approx(15));
  CHECK(found.held_h == Approx(20));
  CHECK(finding_text(found) ==
        "no kernel ran on one of its 2 GPUs for 5 h 00 min at a time: 15.0 of "
        "its 20.0 GPU hours had none");
  job.run.gpu_idle_s = 1.99 * kHour_s;
  CHECK(wastes(job).empty());
  job.gpus = 1;
  job.run.gpu_idle_s = 2 * kHour_s;
  CHECK_THAT(finding_text(findings_of(job, {}).front()),
             Catch::Matchers::StartsWith("no kernel ran on its GPU for "));
}

TEST_CASE("a run that waits for data for over 30% of two hours is told") {
  JobRecord job = starved(run_of(1));
  CHECK(wastes(job) == Wastes{Waste::kInputBound});
  const Finding found = findings_of(job, {}).front();
  CHECK(found.wasted_h == Approx(8));  // both GPUs wait
  CHECK(finding_text(found) ==
        "it waited for data in 40% of 10 h 00 min: 8.00 of its 20.0 GPU hours");
  job.run.waited_s = 3 * kHour_s;
  CHECK(wastes(job).empty());  // no more than the limit
  job.run.wall_s = 1.9 * kHour_s;
  job.run.waited_s = 1.8 * kHour_s;
  CHECK(wastes(job).empty());  // too short
}

TEST_CASE("a long run that uses under a quarter of its cores is told") {
  JobRecord job = wide(run_of(1));
  CHECK(wastes(job) == Wastes{Waste::kUnusedCores});
  const Finding found = findings_of(job, {}).front();
  CHECK(found.wasted_h == Approx(72));
  CHECK(finding_text(found) ==
        "it used 0.80 of its 8.00 cores on average: 72.0 of its 80.0 core "
        "hours were unused");
  job.run.used_core_s = 20 * kHour_s;
  CHECK(wastes(job).empty());
  job = wide(run_of(1));
  job.run.allocated_core_s = 39 * kHour_s;  // 3.9 cores
  CHECK(wastes(job).empty());
}

TEST_CASE("the limits are the site's") {
  const JobRecord job = wide(starved(idle(run_of(1))));
  CHECK(wastes(job) ==
        Wastes{Waste::kIdleGpus, Waste::kInputBound, Waste::kUnusedCores});
  CHECK(wastes(job, {.idle_gpu_h = 5.1, .input_bound = 0.41}) ==
        Wastes{Waste::kUnusedCores});
  CHECK(wastes(job, {.input_bound_h = 10.1, .unused_cores_h = 11}) ==
        Wastes{Waste::kIdleGpus});
}

TEST_CASE("of what is not known nothing is told") {
  JobRecord job = wide(starved(idle(run_of(1))));
  job.run = {};
  CHECK(wastes(job).empty());
  job = idle(run_of(1));
  job.run.gpu_busy_s.reset();
  CHECK(wastes(job).empty());
  job = starved(run_of(1));
  job.run.wall_s = 0;
  CHECK(wastes(job).empty());
  job = wide(run_of(1));
  job.run.used_core_s.reset();
  CHECK(wastes(job).empty());
}

TEST_CASE("a run without GPUs wastes none by waiting") {
  JobRecord job = starved(run_of(1));
  job.gpus = 0;
  CHECK(wastes(job).empty());
}

TEST_CASE("users come by the GPU hours that they wasted, then by core hours") {
  const auto users = by_user(
      all_of({wide(run_of(1, 1001, "bob")), starved(run_of(2, 1002, "eve")),
              idle(run_of(3, 1000, "ada")), starved(run_of(4, 1000, ""))}));
  REQUIRE(users.size() == 3);
  CHECK(users[0].user == "ada");
  REQUIRE(users[0].findings.size() == 2);
  CHECK(users[0].findings[0].job.job_id == 3);  // 15 hours before 8
  CHECK(users[1].user == "eve");
  CHECK(users[2].user == "bob");
  CHECK(users[0].findings[0].wasted_h == Approx(15));
}
