#include "node_agent/job.h"

#include <sys/mman.h>

#include <cstring>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

Task& add_task(Job& job, pid_t pid, uint32_t step, const CpuSet& cpus) {
  Task& task = job.tasks[pid];
  task.start.step_id = step;
  task.home.affinity = cpus;
  return task;
}

void add_rank(Task& task, uint64_t updated_ns) {
  auto pages = TaskPages::create();
  REQUIRE(pages.ok());
  Progress progress;
  progress.updated_ns = updated_ns;
  task.ranks.push_back(Rank{*std::move(pages), {}, progress});
}

Rank rank_that_says(uint32_t loader_threads, bool follows_hint) {
  Rank rank{.pages = *TaskPages::create()};
  rank.progress.emplace();
  rank.progress->loader_threads = loader_threads;
  rank.progress->follows_hint = follows_hint;
  return rank;
}

}  // namespace

TEST_CASE("a batch script that has started a step does not count as a task") {
  Job job;
  add_task(job, 10, kBatchStep, CpuSet({0, 1}));
  CHECK(job.task_count() == 1);  // it may be the trainer itself
  add_task(job, 11, 0, CpuSet({0, 1}));
  CHECK(job.task_count() == 1);
  add_task(job, 12, 0, CpuSet({2, 3}));
  CHECK(job.task_count() == 2);
}

TEST_CASE("a step has CPUs of its own, whatever the batch script has") {
  Job job;
  CHECK(job.launch() == Launch::kUnknown);
  add_task(job, 10, kBatchStep, CpuSet({0, 1, 2, 3}));
  CHECK(job.launch() == Launch::kBatch);
  CHECK(job.task_cpus() == CpuSet({0, 1, 2, 3}));
  add_task(job, 11, 0, CpuSet({1}));
  CHECK(job.launch() == Launch::kStepOfBatch);
  CHECK(job.task_cpus() == CpuSet({1}));
  CHECK(job.cpus() == CpuSet({0, 1, 2, 3}));
  job.tasks.erase(10);
  CHECK(job.launch() == Launch::kStep);
}

TEST_CASE("ranks are the reporting processes, or else the tasks") {
  Job job;
  Task& first = add_task(job, 10, 0, CpuSet({0}));
  add_task(job, 11, 0, CpuSet({1}));
  CHECK(job.reporting_ranks() == 0);
  CHECK(job.ranks() == 2);
  add_rank(first, 100 * kSecond);
  CHECK(job.ranks() == 1);
  add_rank(first, 99 * kSecond);
  CHECK(job.ranks() == 2);
}

TEST_CASE("a process that has stopped reporting does not count as a rank") {
  Job job;
  Task& task = add_task(job, 10, 0, CpuSet({0}));
  add_rank(task, 10 * kSecond);
  add_rank(task, 20 * kSecond);
  CHECK(job.reporting_ranks() == 2);
  task.ranks[1].progress->updated_ns = 41 * kSecond;
  CHECK(job.reporting_ranks() == 1);
  task.ranks[0].progress->updated_ns = 41 * kSecond;
  task.ranks[0].gone = true;
  CHECK(job.reporting_ranks() == 1);
}

TEST_CASE("more reporting processes do not increase a job's pool shares") {
  Job job;
  Task& task = add_task(job, 10, 0, CpuSet({0, 1, 2, 3}));
  for (int i = 0; i < 64; ++i) add_rank(task, kSecond);
  CHECK(job.ranks() == 64);
  CHECK(job.shares() == 1);
  std::strcpy(task.start.gpus, "0-2");
  CHECK(job.shares() == 3);
  std::strcpy(task.start.gpus, "0-63");
  CHECK(job.shares() == 4);
}

TEST_CASE("more tasks on the same CPU do not increase a job's pool shares") {
  Job job;
  for (int i = 0; i < 64; ++i) add_task(job, 10 + i, 0, CpuSet({0}));
  CHECK(job.ranks() == 64);
  CHECK(job.shares() == 1);
}

TEST_CASE("the steps of a page without samples are read as samples") {
  Job job;
  Task& task = add_task(job, 10, 0, CpuSet({0}));
  add_rank(task, 0);
  Rank& rank = task.ranks.front();
  rank.progress.reset();
  CHECK_FALSE(
      rank.read(32, [] { return 10 * kSecond; }));  // nothing written yet
  auto* page = static_cast<penstock_progress_page*>(
      ::mmap(nullptr, PENSTOCK_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
             rank.pages.progress_fd(), 0));
  REQUIRE(page != MAP_FAILED);
  page->version = PENSTOCK_PAGE_VERSION;
  page->started_ns = kSecond;
  page->updated_ns = 2 * kSecond;
  page->steps = 10;
  page->magic = PENSTOCK_PROGRESS_MAGIC;
  CHECK(rank.read(32, [] { return 10 * kSecond; }));
  CHECK(rank.progress->samples == 320);
  ::munmap(page, PENSTOCK_PAGE_BYTES);
}

TEST_CASE("CPU time of a thread reclassified as trainer moves to the trainer") {
  Job job;
  job.totals = {.home_cpu_s = 10, .away_cpu_s = 5, .job_cpu_s = 40};
  job.totals.credited_away_cpu_s = 5;
  job.sampled = job.totals;
  job.totals.home_cpu_s += 0.5;  // 0.2 of it this thread's
  job.totals.job_cpu_s += 0.7;
  job.trainer.cores = {0.1};
  LoaderThread thread{{}, SchedstatFile(UniqueFd()), {}, {}};
  charge_trainer(job, thread);  // nothing was charged
  CHECK(job.trainer.cores.size() == 1);
  thread.charged = {8.7, 4};
  thread.sampled = {8.5, 4};
  charge_trainer(job, thread);
  CHECK(job.totals.home_cpu_s == Approx(1.8));
  CHECK(job.totals.away_cpu_s == 1);
  CHECK(job.totals.credited_away_cpu_s == 1);
  CHECK(job.trainer.cores.empty());
  const CpuUse use = cpu_use(job.sampled, job.totals);
  CHECK(use.home_s == Approx(0.3));
  CHECK(*use.trainer_s == Approx(0.4));
}

TEST_CASE("the widest state of a job is kept after some of its tasks end") {
  Job job;
  add_rank(add_task(job, 10, 0, CpuSet({0, 1})), kSecond);
  add_rank(add_task(job, 11, 0, CpuSet({2, 3})), kSecond);
  job.grant.rate = 100;
  job.note_widest();
  job.tasks.erase(11);
  job.grant.rate = 50;
  job.note_widest();
  CHECK(job.widest.tasks == 2);
  CHECK(job.widest.cpus == CpuSet({0, 1, 2, 3}));
  CHECK(job.widest.grant.rate == 100);
}

TEST_CASE("a rank that reported only briefly does not fix the widest state") {
  Job job;
  Task& task = add_task(job, 10, 0, CpuSet({0, 1}));
  add_rank(task, 100 * kSecond);
  add_rank(task, 20 * kSecond);
  task.ranks[0].progress->started_ns = 10 * kSecond;
  task.ranks[1].progress->started_ns = 19 * kSecond;
  REQUIRE(job.reporting_ranks() == 1);
  job.grant.rate = 50;
  job.note_widest();
  CHECK(job.widest.grant.rate == 50);
}

TEST_CASE("the number of simultaneous ranks is an average over time") {
  PageSums sums;
  CHECK(sums.ranks_at_once() == 1);
  Progress page;
  page.started_ns = 10 * kSecond;
  page.updated_ns = 110 * kSecond;
  sums.add(page);
  CHECK(sums.ranks_at_once() == Approx(1));
  sums.add(page);
  CHECK(sums.ranks_at_once() == Approx(2));
  // One after the other, with a gap between them.
  PageSums later;
  later.add(page);
  page.started_ns = 210 * kSecond;
  page.updated_ns = 310 * kSecond;
  later.add(page);
  CHECK(later.ranks_at_once() == Approx(1));
}

TEST_CASE("only a rank that follows the hint makes a job elastic") {
  Job job;
  CHECK_FALSE(job.elastic());
  std::vector<Rank>& ranks = job.tasks[100].ranks;
  ranks.push_back(Rank{.pages = *TaskPages::create()});  // silent so far
  CHECK_FALSE(job.elastic());
  ranks.push_back(rank_that_says(2, false));
  CHECK_FALSE(job.elastic());
  ranks.push_back(rank_that_says(0, true));
  CHECK(job.elastic());
  ranks.back().gone = true;
  CHECK_FALSE(job.elastic());
}

TEST_CASE("a note is recorded once, and only up to the limit") {
  Job job;
  CHECK(job.note("I/O limit: no"));
  CHECK_FALSE(job.note("I/O limit: no"));
  for (size_t i = 1; i < kMaxReportNotes; ++i) {
    CHECK(job.note(std::to_string(i)));
  }
  CHECK_FALSE(job.note("one too many"));
  CHECK(job.notes.size() == kMaxReportNotes);
}
