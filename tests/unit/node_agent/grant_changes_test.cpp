#include "node_agent/grant_changes.h"

#include <random>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

PlannedGrant grant_of(double home, double away = 0, double bytes_per_s = 0) {
  PlannedGrant grant;
  grant.id = 7;
  grant.home_cores = home;
  grant.away_cores = away;
  if (away > 0) grant.away_cpus = CpuSet({3});
  grant.bytes_per_s = bytes_per_s;
  return grant;
}

struct Fixture {
  void plan(const PlannedGrant& grant,
            GrantCause cause = GrantCause::kMeasuredChange) {
    const PlannedGrant before = std::exchange(job.grant, grant);
    job.loan.cpus = grant.away_cpus;
    record_plan(job, before, cause, now);
  }
  void recall() {
    job.loan.cpus = CpuSet();
    record_recall(job, now);
  }
  void lend_again() {
    job.loan.cpus = job.grant.away_cpus;
    record_lent_again(job, now);
  }
  void pass(uint64_t seconds) { now.ns += seconds * 1'000'000'000; }

  Job job;
  Moment now{5000, 100'000'000'000};
};

}  // namespace

TEST_CASE("the first change has no previous grant") {
  Fixture f;
  f.plan(grant_of(1), GrantCause::kTaskStart);
  REQUIRE(f.job.changes.list.size() == 1);
  CHECK_FALSE(f.job.changes.list[0].cores_from);
  CHECK(*f.job.changes.list[0].cores_to == 1);
  CHECK(f.job.changes.by_cause[size_t(GrantCause::kTaskStart)] == 1);
}

TEST_CASE("small changes are recorded once they add up") {
  Fixture f;
  f.plan(grant_of(0.94));
  double home = 0.94;
  while (home > 0.04) f.plan(grant_of(home -= 0.004));
  CHECK(f.job.changes.list.size() > 50);
  CHECK(f.job.changes.list.size() < 100);
  for (size_t i = 1; i < f.job.changes.list.size(); ++i) {
    CHECK(*f.job.changes.list[i].cores_from - *f.job.changes.list[i].cores_to <=
          0.014);
  }
}

TEST_CASE("a change of a loan's cores on the same CPU is recorded") {
  Fixture f;
  f.plan(grant_of(1, 0.9));
  f.plan(grant_of(1, 0.2));
  REQUIRE(f.job.changes.list.size() == 2);
  CHECK(*f.job.changes.list[1].away_from == 0.9);
  CHECK(*f.job.changes.list[1].away_to == 0.2);
}

TEST_CASE("a recall and its end give two entries, at most once in 10 s") {
  Fixture f;
  f.plan(grant_of(1, 0.9));
  f.recall();
  f.lend_again();
  REQUIRE(f.job.changes.list.size() == 3);
  CHECK(f.job.changes.list[1].cause == GrantCause::kRecall);
  CHECK(*f.job.changes.list[1].cores_to == 1);
  CHECK(*f.job.changes.list[1].away_to == 0);
  CHECK(f.job.changes.list[2].cause == GrantCause::kIdleCpus);
  CHECK(*f.job.changes.list[2].cores_to == Approx(1.9));
  f.pass(5);
  f.recall();
  f.lend_again();
  CHECK(f.job.changes.list.size() == 3);
  f.pass(6);
  f.recall();
  CHECK(f.job.changes.list.size() == 4);
}

TEST_CASE("an unchanged plan gives no entry, even after a recall") {
  Fixture f;
  f.plan(grant_of(1, 0.9, 1e6));
  f.recall();
  f.plan(grant_of(1, 0.9, 1.01e6));
  CHECK(f.job.changes.list.size() == 2);
  f.plan(grant_of(1, 0.9, 2e6));
  CHECK(f.job.changes.list.size() == 3);
  CHECK(*f.job.changes.list[2].cores_from == 1);
}

TEST_CASE("each change starts from the final values of the previous one") {
  const uint32_t seed = GENERATE(range(1u, 31u));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> cores(0, 2);
  Fixture f;
  for (int i = 0; i < 1500; ++i) {
    f.pass(random() % 8);
    switch (random() % 5) {
      case 0:
        f.recall();
        break;
      case 1:
        f.lend_again();
        break;
      case 2:
        f.plan(grant_of(cores(random)));
        break;
      default:
        f.plan(grant_of(cores(random), cores(random), 1e6));
    }
    // The state of a task that is about to exec on lent CPUs.
    if (random() % 7 == 0) f.job.grant.away_cpus = CpuSet();
  }
  REQUIRE(f.job.changes.list.size() == kMaxGrantChanges);
  for (size_t i = 1; i < f.job.changes.list.size(); ++i) {
    const GrantChange& last = f.job.changes.list[i - 1];
    CHECK(f.job.changes.list[i].cores_from == last.cores_to);
    CHECK(f.job.changes.list[i].away_from == last.away_to);
    CHECK(f.job.changes.list[i].bytes_per_s_from == last.bytes_per_s_to);
  }
}

TEST_CASE("the rate after a change is recorded once, 5 s later") {
  Fixture f;
  f.plan(grant_of(1));
  f.pass(4);
  f.now.unix_s += 4;
  f.job.rates.push_back({double(f.now.ns) * 1e-9, 80});
  record_rate_after(f.job, f.now);
  CHECK_FALSE(f.job.changes.list[0].rate_after);
  f.pass(1);
  f.now.unix_s += 1;
  f.job.rates.push_back({double(f.now.ns) * 1e-9, 100});
  record_rate_after(f.job, f.now);
  REQUIRE(f.job.changes.list[0].rate_after);
  CHECK(*f.job.changes.list[0].rate_after == 90);
  f.job.rates.back().rate = 500;
  record_rate_after(f.job, f.now);
  CHECK(*f.job.changes.list[0].rate_after == 90);
}
