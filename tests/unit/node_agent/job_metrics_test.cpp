#include "node_agent/job_metrics.h"

#include "node_agent/reporter.h"
#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

struct Fixture {
  Fixture() {
    context.config = &config;
    context.now_ns = 101 * kSecond;
    job.id = 12;
    job.started_ns = 1 * kSecond;
    job.grant.home_cores = 2;
    job.grant.away_cores = 1.5;
  }

  JobMetrics look() {
    return job_metrics(job, build_report(job, context, true),
                       double(context.now_ns) * 1e-9);
  }

  Config config;
  ReportContext context;
  Job job;
};

}  // namespace

TEST_CASE("a job without measurements has only its grants and wall time") {
  Fixture f;
  const JobMetrics metrics = f.look();
  CHECK(metrics.granted_home_cores == 2);
  CHECK(metrics.granted_away_cores == 1.5);
  CHECK_FALSE(metrics.granted_bytes_per_s);
  CHECK_FALSE(metrics.rate);
  CHECK_FALSE(metrics.counters.trainer_cpu_s);
  CHECK_FALSE(metrics.counters.samples);
  CHECK_FALSE(metrics.counters.read_bytes);
  CHECK(metrics.counters.home_cpu_s == 0);
  CHECK(metrics.counters.wall_s ==
        WallParts{std::nullopt, std::nullopt, std::nullopt, std::nullopt, 100});
}

TEST_CASE("measured values appear in the metrics") {
  Fixture f;
  f.job.totals = {.home_cpu_s = 10, .away_cpu_s = 5, .job_cpu_s = 40};
  f.job.totals.read_bytes = 4096;
  f.job.reads.knows_bytes = true;
  f.job.reads.limit_bytes_per_s = 1 << 20;
  f.job.rates = {{50, 900}, {90, 100}, {95, 120}};
  f.job.changes.by_cause[size_t(GrantCause::kRecall)] = 3;
  Progress page;
  page.started_ns = 11 * kSecond;
  page.updated_ns = 91 * kSecond;
  page.samples = 8000;
  page.wait_ns = 40 * kSecond;
  f.job.ended.add(page);
  const JobMetrics metrics = f.look();
  CHECK(metrics.granted_bytes_per_s == 1 << 20);
  CHECK(metrics.rate == 110);  // of the last 15 s
  CHECK(metrics.counters.home_cpu_s == 10);
  CHECK(metrics.counters.away_cpu_s == 5);
  CHECK(metrics.counters.trainer_cpu_s == 25);
  CHECK(metrics.counters.samples == 8000);
  CHECK(metrics.counters.read_bytes == 4096);
  CHECK(metrics.counters.changes[size_t(GrantCause::kRecall)] == 3);
  CHECK(*metrics.counters.wall_s[0] == Approx(40));
}

// The kernel's counter restarts with a job's next step.
TEST_CASE("counters never decrease between two readings") {
  Fixture f;
  f.job.totals = {.home_cpu_s = 10, .away_cpu_s = 5, .job_cpu_s = 40};
  const JobCounters before = f.look().counters;
  f.job.totals.job_cpu_s = 16;
  f.context.now_ns += 10 * kSecond;
  const JobCounters after = f.look().counters;
  CHECK(before.trainer_cpu_s == 25);
  CHECK(after.trainer_cpu_s == 25);
  CHECK(*after.wall_s[4] == Approx(110));
  CHECK(after == f.job.told);
}
