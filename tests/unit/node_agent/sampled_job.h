// A job whose kernel files and pages a test writes, sampled period by period.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>

#include <string>

#include "cgroup/v2_backend.h"
#include "node_agent/sampler.h"
#include "tests/unit/catch.h"
#include "tests/unit/cgroup/fake_unified.h"

namespace penstock::test {

struct SampledJob {
  SampledJob() {
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
struct Reporting : SampledJob {
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

// One loader thread at home; the test writes its files of /proc.
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

}  // namespace penstock::test
