#include "node_agent/job_totals.h"

#include "node_agent/reporter.h"
#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// A job that ran for 100 s, of which its page covers 80.
struct Fixture {
  Fixture() {
    context.config = &config;
    context.now_ns = 101 * kSecond;
    job.id = 12;
    job.started_ns = 1 * kSecond;
    Progress page;
    page.started_ns = 11 * kSecond;
    page.updated_ns = 91 * kSecond;
    page.samples = 8000;
    page.wait_ns = 40 * kSecond;
    page.fetch_ns = 30 * kSecond;
    page.prep_ns = 90 * kSecond;
    page.exchange_ns = 8 * kSecond;
    job.ended.add(page);
    job.totals.home_cpu_s = 90;
    job.totals.away_cpu_s = 30;
    job.totals.lent_cpu_s = 4;
  }
  RunTotals totals() {
    return run_totals(build_report(job, context, false), job);
  }
  Config config;
  ReportContext context;
  Job job;
};

Job borrowing(JobId id, const CpuSet& cpus, double used_s) {
  Job job;
  job.id = id;
  job.grant.away_cpus = cpus;
  job.totals.away_cpu_s = used_s;
  return job;
}

}  // namespace

TEST_CASE("a run's totals have the report's breakdown and the core seconds") {
  Fixture f;
  const RunTotals run = f.totals();
  CHECK(*run.wall_s == Approx(100));
  CHECK(*run.parts_s.compute == Approx(32));
  CHECK(*run.parts_s.fetch_stall == Approx(10));
  CHECK(*run.parts_s.prep_stall == Approx(30));
  CHECK(*run.parts_s.exchange_stall == Approx(8));
  CHECK(*run.waited_s == Approx(40));
  CHECK(*run.active_s == Approx(80));
  CHECK(run.home_core_s == 90.0);
  CHECK(run.away_core_s == 30.0);
  CHECK(run.lent_core_s == 4.0);
  CHECK(run.guest_core_s == 0.0);
  CHECK_FALSE(run.floor_samples_per_s);
  CHECK(adds_up(run));
}

TEST_CASE("a run's totals have what it was given, and what it used of it") {
  Fixture f;
  f.job.widest.cpus = CpuSet({0, 1, 2, 3});
  f.job.totals.job_cpu_s = 150;  // of it 30 on lent CPUs
  f.job.totals.gpus.gpus = f.job.totals.gpus.known = CpuSet({4, 5});
  f.job.totals.gpus.watched_gpu_s = 160;
  f.job.totals.gpus.busy_gpu_s = 40;
  f.job.totals.gpus.longest_idle_s = 55;
  const RunTotals run = f.totals();
  CHECK(*run.allocated_core_s == Approx(400));
  CHECK(*run.used_core_s == Approx(120));
  CHECK(*run.gpu_s == Approx(160));
  CHECK(*run.gpu_busy_s == Approx(40));
  CHECK(*run.gpu_idle_s == Approx(55));
}

TEST_CASE("what nobody watched of a run's CPUs and GPUs is unknown") {
  Fixture f;
  f.job.totals.gpus.gpus = CpuSet({4});
  const RunTotals run = f.totals();
  CHECK_FALSE(run.allocated_core_s);
  CHECK_FALSE(run.used_core_s);
  CHECK_FALSE(run.gpu_s);
  CHECK_FALSE(run.gpu_busy_s);
  CHECK_FALSE(run.gpu_idle_s);
}

TEST_CASE("a node without GPUs of the job's has no idle ones") {
  const RunTotals run = Fixture().totals();
  CHECK(run.gpu_s == 0.0);
  CHECK(run.gpu_idle_s == 0.0);
}

TEST_CASE("a guest's own CPUs are not told as unused") {
  Fixture f;
  f.job.guest = true;
  f.job.widest.cpus = CpuSet({0, 1, 2, 3});
  f.job.totals.job_cpu_s = 150;
  CHECK_FALSE(f.totals().allocated_core_s);
}

TEST_CASE("a floor is given per rank, after the first measurement") {
  Fixture f;
  Progress page;
  page.started_ns = 11 * kSecond;
  page.updated_ns = 91 * kSecond;
  f.job.ended.add(page);  // a second rank
  f.job.widest.grant.floor = 60;
  CHECK_FALSE(f.totals().floor_samples_per_s);
  f.job.costs.corrected.emplace();
  CHECK(*f.totals().floor_samples_per_s == Approx(30));
}

TEST_CASE("a job that reports nothing has no waiting, active or compute time") {
  Fixture f;
  f.job.ended = {};
  const RunTotals run = f.totals();
  CHECK(*run.wall_s == Approx(100));
  CHECK_FALSE(run.waited_s);
  CHECK_FALSE(run.active_s);
  CHECK_FALSE(run.parts_s.compute);
}

TEST_CASE("core seconds are unknown after a restart of penstockd") {
  Fixture f;
  f.job.quality.agent_restarts = 1;
  const RunTotals run = f.totals();
  CHECK_FALSE(run.home_core_s);
  CHECK_FALSE(run.away_core_s);
  CHECK_FALSE(run.lent_core_s);
  CHECK(run.parts_s.compute);  // the pages had gone on counting
}

TEST_CASE("borrowed CPU time is credited once to the owners of the CPUs") {
  std::map<JobId, Job> jobs;
  jobs[1] = borrowing(1, CpuSet({4, 5, 6, 7}), 8);
  jobs[2] = borrowing(2, CpuSet(), 0);
  jobs[3] = borrowing(3, CpuSet(), 0);
  // CPU 7 is idle, 9 is another borrower's.
  const std::map<int, uint64_t> lenders = {
      {4, 2}, {5, 2}, {6, 3}, {7, 0}, {9, 3}};
  credit_lenders(lenders, jobs);
  CHECK(jobs[2].totals.lent_cpu_s == 4);
  CHECK(jobs[3].totals.lent_cpu_s == 2);
  CHECK(jobs[1].totals.lent_cpu_s == 0);
  credit_lenders(lenders, jobs);  // nothing was used since
  CHECK(jobs[2].totals.lent_cpu_s == 4);
  jobs[1].totals.away_cpu_s = 9;
  jobs[1].grant.away_cpus = CpuSet({4});
  credit_lenders(lenders, jobs);
  CHECK(jobs[2].totals.lent_cpu_s == 5);
}

TEST_CASE("ended lenders and ended loans get no credit") {
  std::map<JobId, Job> jobs;
  jobs[1] = borrowing(1, CpuSet({4}), 8);
  credit_lenders({{4, 2}}, jobs);
  CHECK(jobs.size() == 1);
  jobs[2] = borrowing(2, CpuSet(), 0);
  jobs[1].totals.away_cpu_s = 9;
  jobs[1].grant.away_cpus = CpuSet();
  credit_lenders({{4, 2}}, jobs);
  CHECK(jobs[2].totals.lent_cpu_s == 0);
}

TEST_CASE("a job that borrowed knows whose CPUs it used") {
  std::map<JobId, Job> jobs;
  jobs[1] = borrowing(1, CpuSet({4, 5, 6, 7}), 8);
  jobs[2] = borrowing(2, CpuSet(), 0);
  credit_lenders({{4, 2}, {5, 2}, {6, 2}, {7, 0}}, jobs);
  CHECK(jobs[1].totals.lent_by_cpu_s ==
        std::map<uint64_t, double>{{0, 2}, {2, 6}});
}

TEST_CASE("a guest's time on its own CPUs is at home and not lent") {
  std::map<JobId, Job> jobs;
  jobs[1] = borrowing(1, CpuSet({4}), 8);
  jobs[1].loan.own_cpus = CpuSet({0, 1, 2});
  jobs[2] = borrowing(2, CpuSet(), 0);
  for (int i = 0; i < 2; ++i) {  // the second time nothing was used since
    credit_lenders({{4, 2}}, jobs);
    CHECK(jobs[1].totals.home_cpu_s == 6);
    CHECK(jobs[1].totals.away_cpu_s == 2);
    CHECK(jobs[2].totals.lent_cpu_s == 2);
  }
}
