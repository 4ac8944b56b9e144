#include "node_agent/sampler.h"

#include <sys/mman.h>

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
  Sampler sampler{backend};
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
  for (const RatePoint& point : f.job.rates) {
    CHECK(point.rate == Approx(100).epsilon(1e-6));
  }
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
