#include "node_agent/sampler.h"

#include "tests/unit/node_agent/sampled_job.h"

using namespace penstock;
using namespace penstock::test;

TEST_CASE("a job's rate excludes the time in which it was stopped") {
  Reporting f;
  f.run(10);
  CHECK(f.job.rates.size() == 9);
  f.job.stopped = true;
  for (int i = 0; i < 7; ++i) f.sample();
  f.job.stopped = false;
  f.run(5);
  CHECK(f.job.rates.size() == 13);
  for (const RecentRate& point : f.job.rates) {
    CHECK(point.rate == Approx(100).epsilon(1e-6));
  }
}

TEST_CASE(
    "the cost of a sharing job is per prepared sample, unknown without any") {
  Reporting reporting;
  const bool is_sharing = GENERATE(false, true);
  reporting.page->share = is_sharing ? 7 : 0;
  for (int i = 0; i < 60; ++i) {
    reporting.job.totals.home_cpu_s += 0.1;
    reporting.run(1);
  }
  const auto cost = [&] {
    return reporting.job.costs.corrector.corrected(std::nullopt)
        .loader_cpu_s_per_sample;
  };
  CHECK(cost().known() == !is_sharing);
  for (int i = 0; i < 70; ++i) {
    reporting.page->prepared += 25;
    reporting.job.totals.home_cpu_s += 0.1;
    reporting.run(1);
  }
  CHECK(cost().value == Approx(0.1 / 25));
}

TEST_CASE(
    "the storage bytes of a share follow its latest cache hits by the clock") {
  Observation cold;
  cold.seconds = 1;
  cold.samples = cold.prepared = 100;
  cold.bytes = 1e5;
  cold.ended_s = 0.5;
  Corrector before;
  for (int i = 0; i < 20; ++i) before.add(cold);
  Reporting f;
  for (int i = 0; i < 20; ++i) {
    f.page->prepared += 100;
    f.page->cached_bytes += 100000;
    f.run(1);
  }
  const MeasuredCosts costs =
      Corrector::costs_of({{&before, &f.job.costs.corrector}});
  CHECK(costs.storage_bytes.value == Approx(0).margin(1e-9));
}

TEST_CASE(
    "bytes that no controller counts come from the loader or are unknown") {
  Reporting f;
  f.device = "254:16";
  f.page->bytes = 0;
  f.run(2);
  CHECK_FALSE(f.job.reads.knows_bytes);
  f.page->bytes = 5000;
  f.run(1);
  CHECK(f.job.reads.knows_bytes);
  CHECK(f.job.totals.read_bytes == 5000);
}

TEST_CASE("the kernel's byte count takes precedence over the loader's") {
  Reporting f;
  f.device = "254:16";
  const Home home{TaskId{100, 0}, f.task, f.task, f.task, {}, {}, f.group};
  f.machine.start(100, 100, f.task, CpuSet{{0}});
  REQUIRE(f.backend.add_task(f.job.id, home));
  REQUIRE(f.backend.attach_io(f.job.id, *f.backend.home_of({100, 0})));
  const auto count = [&](const char* text) {
    f.machine.tree().write(f.group.substr(1) + "/io.stat", text);
  };
  count("");
  f.page->bytes = 5000;
  f.run(1);
  CHECK(f.job.reads.knows_bytes);
  CHECK(f.job.totals.read_bytes == 0);
  count("254:16 rbytes=700 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n");
  f.run(1);
  CHECK(f.job.totals.read_bytes == 700);
  f.machine.fail("read", "io.stat", ENODEV);  // the job ends
  f.run(1);
  CHECK(f.job.totals.read_bytes == 700);
}

TEST_CASE("pressure is counted from the first sample of a job") {
  SampledJob f;
  f.set_pressure(5'000'000, 1'000);  // of an earlier run in the same group
  f.sample();
  CHECK(f.job.totals.pressure->cpu_us == 0);
  f.set_pressure(5'700'000, 1'300);
  f.sample();
  CHECK(f.job.totals.pressure->cpu_us == 700'000);
  CHECK(f.job.totals.pressure->io_us == 300);
  f.set_pressure(200'000, 0);  // a new group
  f.sample();
  CHECK(f.job.totals.pressure->cpu_us == 900'000);
  CHECK(f.job.totals.pressure->io_us == 300);
}

TEST_CASE("pressure of an adopted job is counted from the job's start") {
  SampledJob f;
  f.job.quality.agent_restarts = 1;
  f.set_pressure(5'000'000, 1'000);
  f.sample();
  CHECK(f.job.totals.pressure->cpu_us == 5'000'000);
}

TEST_CASE("pressure that the kernel does not report is unknown") {
  SampledJob f;
  SECTION("no pressure files") { f.machine.fail("read", ".pressure", ENOENT); }
  SECTION("in no group of Slurm") { f.job.tasks[100].accounted_path = ""; }
  f.sample();
  CHECK_FALSE(f.job.totals.pressure);
}

TEST_CASE(
    "each period gives a timeline point with grants, use, rate and shares") {
  WithLoader f;
  f.job.grant.home_cores = 1.5;
  f.job.grant.away_cores = 0.5;
  f.job.reads.limit_bytes_per_s = 7000;
  for (int i = 0; i < 4; ++i) {
    f.spend(800, 100);
    f.page->wait_ns += 400'000'000;
    f.page->fetch_ns += 300'000'000;
    f.page->prep_ns += 100'000'000;
    f.page->exchange_ns += 100'000'000;
    f.run(1);
  }
  const std::vector<TimelinePoint> points = f.job.course.points();
  REQUIRE(points.size() == 4);
  CHECK_FALSE(points[0].rate);  // the first batch is only the baseline
  for (size_t i = 1; i < points.size(); ++i) {
    const TimelinePoint& it = points[i];
    CHECK(it.begin_unix_s == Approx(5000 + double(i)));
    CHECK(it.duration_s == Approx(1));
    CHECK(*it.granted_home_cores == 1.5);
    CHECK(*it.granted_away_cores == 0.5);
    CHECK(*it.granted_bytes_per_s == 7000);
    CHECK(*it.used_home_cores == Approx(0.8));
    CHECK(*it.used_away_cores == 0);
    CHECK_FALSE(it.used_bytes_per_s);
    CHECK(*it.rate == Approx(100));
    CHECK(*it.shares.compute == Approx(0.5));
    CHECK(*it.shares.fetch_stall == Approx(0.3));
    CHECK(*it.shares.prep_stall == Approx(0.1));
    CHECK(*it.shares.exchange_stall == Approx(0.1));
  }
}

TEST_CASE("a timeline has no predicted rate if rates are in cores") {
  WithLoader f;
  f.job.grant.rate = 0.22;
  f.job.grant.in_cores = GENERATE(false, true);
  f.job.costs.corrected.emplace();
  f.run(3);
  const TimelinePoint point = f.job.course.points().back();
  CHECK(point.predicted_rate.has_value() == !f.job.grant.in_cores);
}

TEST_CASE("a batch of several periods gives each of them its rate") {
  WithLoader f;
  f.run(2);
  for (int i = 0; i < 4; ++i) f.sample();
  CHECK_FALSE(f.job.course.points().back().rate);
  f.run(1);
  const std::vector<TimelinePoint> points = f.job.course.points();
  REQUIRE(points.size() == 7);
  for (size_t i = 2; i < 7; ++i) CHECK(*points[i].rate == Approx(20));
}

TEST_CASE("periods of a stopped job have no rate and no shares") {
  WithLoader f;
  f.run(2);
  f.job.stopped = true;
  f.sample();
  f.sample();
  f.job.stopped = false;
  f.run(3);
  const std::vector<TimelinePoint> points = f.job.course.points();
  REQUIRE(points.size() == 7);
  for (size_t i : {2, 3, 4}) {
    CHECK_FALSE(points[i].rate);
    CHECK_FALSE(points[i].shares.compute);
  }
  CHECK(*points[6].rate == Approx(100));
}

TEST_CASE(
    "observed states of loader threads split the trainer's waiting time") {
  WithLoader f;
  f.run(1);
  for (int i = 0; i < 10; ++i) {
    f.machine.set_state(101, i % 2 == 0 ? 'D' : 'R');
    f.spend(i % 2 == 0 ? 0 : 600, i % 2 == 0 ? 0 : 400);
    f.page->wait_ns += 500'000'000;
    f.run(1);
  }
  CHECK(f.job.totals.by_kernel.fetch_s == Approx(2.5));
  CHECK(f.job.totals.by_kernel.prep_s == Approx(2.5));
  const std::vector<TimelinePoint> points = f.job.course.points();
  CHECK(*points[1].shares.fetch_stall == Approx(0.5));
  CHECK(*points[1].shares.prep_stall == 0);
  CHECK(*points[2].shares.prep_stall == Approx(0.5));
  CHECK(*points[2].shares.compute == Approx(0.5));
}

TEST_CASE("thread states are sampled only if they add information") {
  WithLoader f;
  f.machine.set_state(101, 'D');
  SECTION("the loader reports its own time") {
    for (int i = 0; i < 5; ++i) {
      f.page->wait_ns += 500'000'000;
      f.page->prep_ns += 500'000'000;
      f.run(1);
    }
    CHECK(f.job.totals.by_kernel.fetch_s == 0);
  }
  SECTION("the trainer does not wait") { f.run(5); }
  CHECK_FALSE(f.job.loader.watches_states);
  const double before_s = f.job.totals.loader.blocked_s;
  f.run(5);
  CHECK(f.job.totals.loader.blocked_s == before_s);
}

TEST_CASE("without pages a timeline has the shares from pressure and NVML") {
  SampledJob f;
  f.job.started_ns = f.now_ns;
  f.set_pressure(0, 0);
  f.sample();
  f.job.gpu_use = {{0, {0.5, {}, {}}}};
  f.set_pressure(300'000, 100'000);
  f.sample();
  f.job.gpu_use.clear();
  f.set_pressure(300'000, 100'000);
  f.sample();
  const std::vector<TimelinePoint> points = f.job.course.points();
  REQUIRE(points.size() == 3);
  CHECK_FALSE(points[0].shares.prep_stall);  // a baseline first
  CHECK(*points[1].shares.compute == Approx(0.5));
  CHECK(*points[1].shares.prep_stall == Approx(0.3));
  CHECK(*points[1].shares.fetch_stall == Approx(0.1));
  CHECK_FALSE(points[2].shares.compute);
  CHECK(*points[2].shares.prep_stall == 0);
  CHECK(f.job.totals.gpus.busy_s == Approx(0.5));
}

TEST_CASE(
    "counts from before penstockd's start are excluded from the first period") {
  SampledJob f;
  f.job.started_ns = f.now_ns;  // adopted
  f.now_ns += 100'000'000'000;
  f.job.quality.agent_restarts = 1;
  f.set_pressure(50'000'000, 1'000);
  f.sample();
  const std::vector<TimelinePoint> points = f.job.course.points();
  REQUIRE(points.size() == 1);
  CHECK(points[0].duration_s == Approx(1));
  CHECK(points[0].begin_unix_s == Approx(100));
  CHECK_FALSE(points[0].shares.prep_stall);
  CHECK_FALSE(points[0].used_trainer_cores);
}
