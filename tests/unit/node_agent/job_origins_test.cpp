#include "node_agent/plan/job_origins.h"

#include "tests/unit/catch.h"

using namespace penstock;

TEST_CASE("a job's origin is the last one announced, until its end") {
  JobOrigins origins;
  CHECK(origins.of(7) == JobOrigin{});
  origins.set(7, {"physics", "gpu"});
  origins.set(8, {"", "gpu"});
  CHECK(origins.of(7).account == "physics");
  CHECK(origins.of(8).partition == "gpu");
  origins.set(7, {"biology", "test"});  // requeued
  CHECK(origins.of(7) == JobOrigin{"biology", "test"});
  origins.set(7, {});
  CHECK(origins.of(7) == JobOrigin{});
  origins.forget(8);
  CHECK(origins.of(8) == JobOrigin{});
}

TEST_CASE("the number of origins is bounded, the oldest are dropped first") {
  JobOrigins origins;
  const JobId last = JobOrigins::kMaxJobs + 1;
  for (JobId job = 1; job <= last; ++job) origins.set(job, {"physics", "gpu"});
  CHECK(origins.of(1) == JobOrigin{});
  CHECK(origins.of(2) == JobOrigin{"physics", "gpu"});
  CHECK(origins.of(last) == JobOrigin{"physics", "gpu"});
}
