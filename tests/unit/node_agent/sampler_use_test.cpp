// How a sample divides a job's CPU time, and the need derived from it.
#include <random>

#include "tests/unit/node_agent/sampled_job.h"

using namespace penstock;
using namespace penstock::test;

TEST_CASE(
    "a sample splits a job's CPU time correctly however often threads move") {
  const uint32_t seed = GENERATE(range(1u, 21u));
  INFO("seed " << seed);
  std::mt19937 random(seed);
  const auto upto = [&](uint64_t most) {
    return std::uniform_int_distribution<uint64_t>(0, most)(random);
  };
  WithLoader f;
  Unit& unit = f.job.tasks[100].units.front();
  uint64_t job_ms = 500;  // before the first sample
  f.set_job_cpu(job_ms);
  f.sample();
  for (int period = 0; period < 50; ++period) {
    uint64_t loader_ms[2] = {0, 0};  // at home, away
    const uint64_t trainer_ms = upto(900);
    for (uint64_t moves = upto(5); moves > 0; --moves) {
      const uint64_t used_ms = upto(200);
      f.spend(used_ms, upto(100));
      loader_ms[unit.away ? 1 : 0] += used_ms;
      f.sampler.account(unit, f.job.totals);
      unit.away = !unit.away;
    }
    job_ms += trainer_ms + loader_ms[0] + loader_ms[1];
    f.set_job_cpu(job_ms);
    f.sample();
    const TimelinePoint point = f.job.course.points().back();
    const auto cores = [](uint64_t ms) {
      return Approx(double(ms) * 1e-3).margin(1e-9);
    };
    CHECK(*point.used_home_cores == cores(loader_ms[0]));
    CHECK(*point.used_away_cores == cores(loader_ms[1]));
    CHECK(*point.used_trainer_cores == cores(trainer_ms));
    CHECK(f.job.trainer.cores.back() == cores(trainer_ms));
  }
  CHECK(trainer_reserve_cores(f.job) <= 0.9);
}

TEST_CASE("the ceiling excludes the trainer's wait for CPUs of its loader") {
  WithLoader f;
  f.spend(0, 0);
  f.sampler.account(f.job.tasks[100].units.front(), f.job.totals);
  for (int i = 0; i < 20; ++i) {
    f.spend(500, 500);
    f.page->delay_ns += 500'000'000;
    f.run(1);
  }
  const auto ceiling = [&] {
    return f.job.costs.corrector.corrected(std::nullopt)
        .ceiling_samples_per_s.value;
  };
  CHECK(ceiling() == Approx(200));
  CHECK(f.job.totals.contention_s == Approx(0.5 * 19));
  const TimelinePoint point = f.job.course.points().back();
  CHECK(*point.shares.compute == Approx(0.5));
  CHECK(*point.shares.prep_stall == Approx(0.5));
}

TEST_CASE("only a loader that runs at home counts as contention") {
  WithLoader f;
  Unit& unit = f.job.tasks[100].units.front();
  f.sampler.account(unit, f.job.totals);
  SECTION("the loader is away") { unit.away = true; }
  SECTION("the loader hardly runs") { unit.away = false; }
  for (int i = 0; i < 20; ++i) {
    f.spend(unit.away ? 900 : 100, 0);
    f.page->delay_ns += 500'000'000;  // for another job's threads, say
    f.run(1);
  }
  CHECK(f.job.totals.contention_s == Approx(unit.away ? 0 : 0.1 * 19));
}

namespace {

// A job with one CPU.
struct OnOneCpu : WithLoader {
  OnOneCpu() {
    job.tasks[100].home.affinity = CpuSet({0});
    set_job_cpu(100);
    sample();
  }
  void period(uint64_t loader_ms, uint64_t delay_ms, uint64_t trainer_ms) {
    spend(loader_ms, delay_ms);
    set_job_cpu(job_ms += loader_ms + trainer_ms);
    sample();
  }
  uint64_t job_ms = 100;
};

}  // namespace

TEST_CASE("a loader is starved while it waits for a busy CPU at home") {
  OnOneCpu f;
  f.period(400, 90, 500);
  CHECK_FALSE(f.job.loader.starved);
  f.period(400, 110, 500);
  CHECK(f.job.loader.starved);
  f.period(300, 60, 100);  // it does not flip with every period
  CHECK(f.job.loader.starved);
  f.period(300, 40, 600);
  CHECK_FALSE(f.job.loader.starved);
  f.period(200, 300, 100);  // bursts on CPUs that are mostly idle
  CHECK_FALSE(f.job.loader.starved);
  f.job.tasks[100].units.front().away = true;
  f.period(400, 500, 500);  // behind a busy lender
  CHECK_FALSE(f.job.loader.starved);
}

TEST_CASE("a task's loader is starved even if another task is idle") {
  OnOneCpu f;
  f.job.tasks[200].home.affinity = CpuSet({1});
  f.period(500, 300, 300);
  CHECK(f.job.loader.starved);
  f.period(100, 300, 100);  // the task's own CPU is mostly idle
  CHECK_FALSE(f.job.loader.starved);
}

TEST_CASE("a plan between two samples uses the reserve of the last one") {
  OnOneCpu f;
  f.period(100, 0, 600);
  CHECK(trainer_reserve_cores(f.job) == Approx(0.6));
  f.job.forget_trainer_use();
  CHECK(trainer_reserve_cores(f.job) == Approx(0.6));
  f.period(100, 0, 200);
  CHECK(trainer_reserve_cores(f.job) == Approx(0.2));
}

TEST_CASE("with several tasks each loader crowds only its own trainer") {
  OnOneCpu f;
  for (pid_t task : {200, 300, 400}) {
    f.job.tasks[task].home.affinity = CpuSet({task / 100});
    f.job.tasks[task].processes = {task};
    f.machine.start(task, task, f.task, CpuSet{{task / 100}});
  }
  const auto wait_for = [&](uint64_t wait_ms) {
    for (pid_t task : {100, 200, 300, 400}) {
      f.job.tasks[task].processes = {task};
      f.machine.set_schedstat(task, 5, wait_ms * 1'000'000);
    }
  };
  wait_for(1000);
  f.period(200, 0, 2000);
  wait_for(1400);
  f.period(200, 0, 2000);  // 0.05 cores of loader a task
  CHECK(f.job.trainer.crowded_cores == Approx(2 * 0.05 / 0.95));
}

TEST_CASE("a job is idle if it uses almost no CPU time") {
  OnOneCpu f;
  CHECK_FALSE(f.job.is_idle);  // nothing to compare with yet
  f.period(10, 0, 20);
  CHECK(f.job.is_idle);
  f.period(0, 0, 100);
  CHECK_FALSE(f.job.is_idle);
}

TEST_CASE("a loader on separate home CPUs causes no contention") {
  OnOneCpu f;
  f.job.tasks[100].loader_cpus = CpuSet({1});
  for (int i = 0; i < 20; ++i) {
    f.spend(500, 0);
    f.page->delay_ns += 500'000'000;
    f.run(1);
  }
  CHECK(f.job.totals.contention_s == 0);
  CHECK(f.job.trainer.crowded_cores == 0);
}

TEST_CASE("an ended thread has the CPU time that the closed loop read last") {
  WithLoader f;
  Unit& unit = f.job.tasks[100].units.front();
  f.spend(300, 0);
  f.sampler.account(unit, f.job.totals);
  unit.threads.front().ticked = {500'000'000, 0};
  f.files.write("schedstat", "");  // as of a thread that has ended
  f.sampler.account(unit, f.job.totals);
  f.sampler.account(unit, f.job.totals);
  CHECK(f.job.totals.home_cpu_s == Approx(0.5));
}
