#include "node_agent/plan/not_lent.h"

#include "tests/unit/catch.h"

namespace penstock {
namespace {

// A job with one CPU, whose ceiling takes four loader cores.
struct Fixture {
  Fixture() {
    job.own_cpus = job.home_cpus = CpuSet({0});
    Prediction& costs = job.prediction.emplace();
    costs.ceiling_samples_per_s = {4000, 4000, 4000};
    costs.loader_cpu_s_per_sample = {0.001, 0.001, 0.001};
    costs.storage_bytes_per_sample = {1e5, 1e5, 1e5};
    job.elastic = true;
    grant.home_cores = 1;
    grant.away_cores = 0.5;
    grant.rate = 1500;
    input.policy = Policy::kThroughput;
  }
  MissingCores missing() const { return missing_cores(input, job, grant); }

  PlanInput input;
  PlanJob job;
  PlannedGrant grant;
};

}  // namespace

TEST_CASE("a job with what its ceiling takes misses nothing") {
  Fixture f;
  CHECK(f.missing().cores == Approx(2.5));
  SECTION("granted") { f.grant.away_cores = 3; }
  SECTION("but for too little to lend") { f.grant.away_cores = 2.96; }
  SECTION("stopped") { f.job.stopped = true; }
  SECTION("a guest") { f.job.guest = true; }
  CHECK(f.missing().cores == 0);
}

TEST_CASE("the reason is what limits the job first") {
  Fixture f;
  NotLent why = NotLent::kNoCpus;
  SECTION("nobody had a CPU to spare") {}
  SECTION("its workers use no more") {
    f.job.elastic = false;
    f.job.loader_units = 1;
    f.grant.away_cores = 0;
    why = NotLent::kThreads;
  }
  SECTION("its limit of threads") {
    f.job.max_threads = 1;
    f.grant.away_cores = 0;
    why = NotLent::kThreads;
  }
  SECTION("its part of a pool") {
    f.grant.bytes_per_s = 1.5e8;
    why = NotLent::kStorage;
  }
  SECTION("more of a pool than it uses") { f.grant.bytes_per_s = 2e8; }
  SECTION("its own limit of bandwidth") {
    f.job.max_bytes_per_s = 150'000'000;
    f.grant.bytes_per_s = 1e9;
    why = NotLent::kStorage;
  }
  SECTION("the policy") {
    f.input.policy = Policy::kEven;
    why = NotLent::kPolicy;
  }
  SECTION("CPUs that other jobs hold, too") {
    f.job.own_cpus = CpuSet({0, 1});
    why = NotLent::kSharedCpus;
  }
  SECTION("pages that contradict the kernel") {
    f.job.on_entitlement = true;
    why = NotLent::kContradiction;
  }
  CHECK(f.missing().why == why);
  CHECK(f.missing().cores > 0);
}

}  // namespace penstock
