#include "node_agent/sampler.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <random>

#include "cgroup/v2_backend.h"
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/fake_unified.h"

using namespace penstock;

namespace {

struct Fixture {
  Fixture() {
    task = machine.make_task("job_7", "step_0", 0, "0-1");
    group = task.substr(0, task.find("/step_0"));
    job.tasks[100].accounted_path = group;
  }
  void set_pressure(uint64_t cpu_us, uint64_t io_us) {
    write("/cpu.pressure", cpu_us);
    write("/io.pressure", io_us);
  }
  void write(const char* file, uint64_t us) {
    machine.tree().write(group.substr(1) + file,
                         "some avg10=0.00 avg60=0.00 avg300=0.00 total=" +
                             std::to_string(us) + "\n");
  }
  void sample() { sampler.sample(job, device, 1.0, now_ns += 1'000'000'000); }

  FakeUnified machine;
  V2Backend backend =
      *V2Backend::create(machine.fs(), machine.proc(), machine.sched(), {});
  Sampler sampler{backend, machine.proc()};
  std::string group, task, device;
  Job job;
  uint64_t now_ns = 1'000'000'000;
};

// A rank that counts 100 samples in each period.
struct Reporting : Fixture {
  Reporting() {
    auto& ranks = job.tasks[100].ranks;
    ranks.push_back(Rank{.pages = *TaskPages::create()});
    page = static_cast<penstock_progress_page*>(
        ::mmap(nullptr, PENSTOCK_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
               ranks.front().pages.progress_fd(), 0));
    REQUIRE(page != MAP_FAILED);
    page->version = PENSTOCK_PAGE_VERSION;
    page->started_ns = now_ns;
    page->magic = PENSTOCK_PROGRESS_MAGIC;
  }
  ~Reporting() { ::munmap(page, PENSTOCK_PAGE_BYTES); }
  void run(int periods) {
    for (int i = 0; i < periods; ++i) {
      page->samples += 100;
      page->updated_ns = now_ns + 1'000'000'000;
      sample();
    }
  }

  penstock_progress_page* page = nullptr;
};

}  // namespace

TEST_CASE("the time in which a job was stopped is no part of its rate") {
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

TEST_CASE("what a job that shares has used tells no cost of what it prepares") {
  Reporting reporting;
  const bool is_sharing = GENERATE(false, true);
  reporting.page->share = is_sharing ? 7 : 0;
  for (int i = 0; i < 60; ++i) {
    reporting.job.totals.home_cpu_s += 0.1;
    reporting.run(1);
  }
  const auto cost = [&] {
    return reporting.job.corrector.corrected(std::nullopt)
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

TEST_CASE("of jobs that share, what a cache served last is told by the clock") {
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
      Corrector::costs_of({{&before, &f.job.corrector}});
  CHECK(costs.storage_bytes.value == Approx(0).margin(1e-9));
}

TEST_CASE("bytes that no controller counts are the loader's, or unknown") {
  Reporting f;
  f.device = "254:16";
  f.page->bytes = 0;
  f.run(2);
  CHECK_FALSE(f.job.knows_bytes);
  f.page->bytes = 5000;
  f.run(1);
  CHECK(f.job.knows_bytes);
  CHECK(f.job.totals.read_bytes == 5000);
}

TEST_CASE("what the kernel counts goes before what a loader says") {
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
  CHECK(f.job.knows_bytes);
  CHECK(f.job.totals.read_bytes == 0);
  count("254:16 rbytes=700 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n");
  f.run(1);
  CHECK(f.job.totals.read_bytes == 700);
  f.machine.fail("read", "io.stat", ENODEV);  // the job ends
  f.run(1);
  CHECK(f.job.totals.read_bytes == 700);
}

TEST_CASE("pressure counts from when the job was first seen") {
  Fixture f;
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

TEST_CASE("an adopted job's pressure counts from its start") {
  Fixture f;
  f.job.quality.agent_restarts = 1;
  f.set_pressure(5'000'000, 1'000);
  f.sample();
  CHECK(f.job.totals.pressure->cpu_us == 5'000'000);
}

TEST_CASE("pressure that the kernel does not tell is unknown") {
  Fixture f;
  SECTION("no such files") { f.machine.fail("read", ".pressure", ENOENT); }
  SECTION("in no group of Slurm's") { f.job.tasks[100].accounted_path = ""; }
  f.sample();
  CHECK_FALSE(f.job.totals.pressure);
}

namespace {

// One loader thread, home, whose files of /proc we write.
struct WithLoader : Reporting {
  WithLoader() {
    machine.start(100, 100, task, CpuSet{{0}});
    machine.start(101, 100, task, CpuSet{{0}});
    spend(0, 0);
    const int fd = ::open((files.path() / "schedstat").c_str(), O_RDONLY);
    Home home;
    home.task = TaskId{101, 0};
    Unit unit{.id = 101, .pid = 100};
    unit.threads.push_back(
        LoaderThread{home, SchedstatFile(UniqueFd(fd)), {}, {}});
    job.tasks[100].units.push_back(std::move(unit));
    job.started_ns = now_ns;
    job.started_unix_s = 5000;
  }
  void spend(uint64_t run_ms, uint64_t wait_ms) {
    spent_ms[0] += run_ms;
    spent_ms[1] += wait_ms;
    files.write("schedstat", std::to_string(spent_ms[0] * 1'000'000) + " " +
                                 std::to_string(spent_ms[1] * 1'000'000) +
                                 " 1\n");
  }
  void set_job_cpu(uint64_t ms) {
    machine.tree().write(group.substr(1) + "/cpu.stat",
                         "usage_usec " + std::to_string(ms * 1000) + "\n");
  }
  TempDir files;
  uint64_t spent_ms[2] = {0, 0};
};

}  // namespace

TEST_CASE("each period is a point of the course") {
  WithLoader f;
  f.job.grant.home_cores = 1.5;
  f.job.grant.away_cores = 0.5;
  f.job.limit_bytes_per_s = 7000;
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
  CHECK_FALSE(points[0].rate);  // the first batch only begins the watching
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
    CHECK(*it.compute == Approx(0.5));
    CHECK(*it.fetch_stall == Approx(0.3));
    CHECK(*it.prep_stall == Approx(0.1));
    CHECK(*it.exchange_stall == Approx(0.1));
  }
}

TEST_CASE("a sample divides the job's CPU time, however often threads move") {
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
    CHECK(f.job.trainer_cores.back() == cores(trainer_ms));
  }
  CHECK(trainer_reserve_cores(f.job) <= 0.9);
}

TEST_CASE("a trainer's wait for its loader's CPUs is no part of its ceiling") {
  WithLoader f;
  f.spend(0, 0);
  f.sampler.account(f.job.tasks[100].units.front(), f.job.totals);
  for (int i = 0; i < 20; ++i) {
    f.spend(500, 500);
    f.page->delay_ns += 500'000'000;
    f.run(1);
  }
  const auto ceiling = [&] {
    return f.job.corrector.corrected(std::nullopt).ceiling_samples_per_s.value;
  };
  CHECK(ceiling() == Approx(200));
  CHECK(f.job.totals.contention_s == Approx(0.5 * 19));
  const TimelinePoint point = f.job.course.points().back();
  CHECK(*point.compute == Approx(0.5));
  CHECK(*point.prep_stall == Approx(0.5));
}

TEST_CASE("only a loader at home is in its trainer's way") {
  WithLoader f;
  Unit& unit = f.job.tasks[100].units.front();
  f.sampler.account(unit, f.job.totals);
  SECTION("it is away") { unit.away = true; }
  SECTION("it hardly runs") { unit.away = false; }
  for (int i = 0; i < 20; ++i) {
    f.spend(unit.away ? 900 : 100, 0);
    f.page->delay_ns += 500'000'000;  // for another job's threads, say
    f.run(1);
  }
  CHECK(f.job.totals.contention_s == Approx(unit.away ? 0 : 0.1 * 19));
}

TEST_CASE("a course has no rate in cores") {
  WithLoader f;
  f.job.grant.rate = 0.22;
  f.job.grant.in_cores = GENERATE(false, true);
  f.job.corrected.emplace();
  f.run(3);
  const TimelinePoint point = f.job.course.points().back();
  CHECK(point.predicted_rate.has_value() == !f.job.grant.in_cores);
}

namespace {

// Of a job of one CPU.
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

TEST_CASE("a loader starves that waits for a CPU at home, for as long") {
  OnOneCpu f;
  f.period(400, 90, 500);
  CHECK_FALSE(f.job.starved);
  f.period(400, 110, 500);
  CHECK(f.job.starved);
  f.period(300, 60, 100);  // it does not flip with every period
  CHECK(f.job.starved);
  f.period(300, 40, 600);
  CHECK_FALSE(f.job.starved);
  f.period(200, 300, 100);  // bursts on CPUs that are mostly idle
  CHECK_FALSE(f.job.starved);
  f.job.tasks[100].units.front().away = true;
  f.period(400, 500, 500);  // behind a busy lender
  CHECK_FALSE(f.job.starved);
}

TEST_CASE("one task's loader starves though another's idles") {
  OnOneCpu f;
  f.job.tasks[200].home.affinity = CpuSet({1});
  f.period(500, 300, 300);
  CHECK(f.job.starved);
  f.period(100, 300, 100);  // the task's own CPU is mostly idle
  CHECK_FALSE(f.job.starved);
}

TEST_CASE("a plan between two samples keeps the reserve of the last") {
  OnOneCpu f;
  f.period(100, 0, 600);
  CHECK(trainer_reserve_cores(f.job) == Approx(0.6));
  f.job.forget_trainer_use();
  CHECK(trainer_reserve_cores(f.job) == Approx(0.6));
  f.period(100, 0, 200);
  CHECK(trainer_reserve_cores(f.job) == Approx(0.2));
}

TEST_CASE("several tasks' loaders are in the way of one trainer each") {
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
  CHECK(f.job.crowded_cores == Approx(2 * 0.05 / 0.95));
}

TEST_CASE("a job is idle where all of it used next to nothing") {
  OnOneCpu f;
  CHECK_FALSE(f.job.is_idle);  // nothing to compare with yet
  f.period(10, 0, 20);
  CHECK(f.job.is_idle);
  f.period(0, 0, 100);
  CHECK_FALSE(f.job.is_idle);
}

TEST_CASE("a loader that is kept apart is not in its trainer's way") {
  OnOneCpu f;
  f.job.tasks[100].loader_cpus = CpuSet({1});
  for (int i = 0; i < 20; ++i) {
    f.spend(500, 0);
    f.page->delay_ns += 500'000'000;
    f.run(1);
  }
  CHECK(f.job.totals.contention_s == 0);
  CHECK(f.job.crowded_cores == 0);
}

TEST_CASE("of an ended thread the last look of the closed loop counts") {
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

TEST_CASE("a batch that takes several periods tells of all of them") {
  WithLoader f;
  f.run(2);
  for (int i = 0; i < 4; ++i) f.sample();
  CHECK_FALSE(f.job.course.points().back().rate);
  f.run(1);
  const std::vector<TimelinePoint> points = f.job.course.points();
  REQUIRE(points.size() == 7);
  for (size_t i = 2; i < 7; ++i) CHECK(*points[i].rate == Approx(20));
}

TEST_CASE("time in which a job was stopped has no rate and no shares") {
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
    CHECK_FALSE(points[i].compute);
  }
  CHECK(*points[6].rate == Approx(100));
}

TEST_CASE("what loader threads were seen at splits what the trainer waited") {
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
  CHECK(*points[1].fetch_stall == Approx(0.5));
  CHECK(*points[1].prep_stall == 0);
  CHECK(*points[2].prep_stall == Approx(0.5));
  CHECK(*points[2].compute == Approx(0.5));
}

TEST_CASE("threads' states are looked at only where they would tell more") {
  WithLoader f;
  f.machine.set_state(101, 'D');
  SECTION("the loader tells how it spends its time") {
    for (int i = 0; i < 5; ++i) {
      f.page->wait_ns += 500'000'000;
      f.page->prep_ns += 500'000'000;
      f.run(1);
    }
    CHECK(f.job.totals.by_kernel.fetch_s == 0);
  }
  SECTION("the trainer does not wait") { f.run(5); }
  CHECK_FALSE(f.job.watches_states);
  const double before_s = f.job.totals.loader.blocked_s;
  f.run(5);
  CHECK(f.job.totals.loader.blocked_s == before_s);
}

TEST_CASE("a course without pages has what the kernel and NVML tell") {
  Fixture f;
  f.job.started_ns = f.now_ns;
  f.set_pressure(0, 0);
  f.sample();
  f.job.gpu_busy = 0.5;
  f.set_pressure(300'000, 100'000);
  f.sample();
  f.job.gpu_busy.reset();
  f.set_pressure(300'000, 100'000);
  f.sample();
  const std::vector<TimelinePoint> points = f.job.course.points();
  REQUIRE(points.size() == 3);
  CHECK_FALSE(points[0].prep_stall);  // a baseline first
  CHECK(*points[1].compute == Approx(0.5));
  CHECK(*points[1].prep_stall == Approx(0.3));
  CHECK(*points[1].fetch_stall == Approx(0.1));
  CHECK_FALSE(points[2].compute);
  CHECK(*points[2].prep_stall == 0);
  CHECK(*f.job.totals.gpu_busy_s == Approx(0.5));
}

TEST_CASE("counters that began before us are no use of the first period") {
  Fixture f;
  f.job.started_ns = f.now_ns;  // adopted
  f.now_ns += 100'000'000'000;
  f.job.quality.agent_restarts = 1;
  f.set_pressure(50'000'000, 1'000);
  f.sample();
  const std::vector<TimelinePoint> points = f.job.course.points();
  REQUIRE(points.size() == 1);
  CHECK(points[0].duration_s == Approx(1));
  CHECK(points[0].begin_unix_s == Approx(100));
  CHECK_FALSE(points[0].prep_stall);
  CHECK_FALSE(points[0].used_trainer_cores);
}
