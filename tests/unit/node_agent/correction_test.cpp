#include "node_agent/correction.h"

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr double kRate = 100;

struct Seen {
  double part = 1;  // prepared share of the samples that it consumes
  double cpu_s = 0.04;
  int seconds = 20;
  bool sharing = true;
};

void observe(Job& job, const Seen& seen) {
  for (int i = 0; i < seen.seconds; ++i) {
    Observation o;
    o.seconds = o.sampled_s = 1;
    o.samples = kRate;
    o.prepared = kRate * seen.part;
    o.loader_cpu_s = o.prepared * seen.cpu_s;
    o.bytes = o.prepared * 1000;
    o.sharing = seen.sharing;
    job.costs.corrector.add(o);
  }
  job.reads.knows_bytes = job.reads.knows_bytes || seen.part > 0;
}

// A managed job in a share (0: none) with `sharers` ranks in all.
Job& add(std::map<JobId, Job>& jobs, JobId id, uint64_t share,
         uint32_t sharers) {
  Job& job = jobs[id];
  job.uid = 1000;
  job.managed = true;
  job.tasks[100];
  job.sharing.share = share;
  job.sharing.sharers = sharers;
  return job;
}

double cores_of(const Job& job) {
  return job.costs.corrected->demand_cores.value;
}

// Two jobs of a share; the first one prepares all samples.
struct OnePrepares {
  OnePrepares() {
    observe(first, {});
    observe(second, {.part = 0});
  }
  std::map<JobId, Job> jobs;
  Job& first = add(jobs, 1, 7, 2);
  Job& second = add(jobs, 2, 7, 2);
};

}  // namespace

TEST_CASE("the needs of sharing jobs do not depend on which of them prepares") {
  OnePrepares share;
  correct_predictions(share.jobs);
  for (const auto& [id, job] : share.jobs) {
    CHECK(cores_of(job) == Approx(2));
    CHECK(job.costs.corrected->loader_cpu_s_per_sample.value == Approx(0.02));
    CHECK(job.costs.corrected->storage_bytes_per_sample.value == Approx(500));
    CHECK(job.costs.corrected->demand_bytes_per_s.value == Approx(50000));
  }
}

TEST_CASE(
    "measurements of a job alone still count after others join its share") {
  std::map<JobId, Job> jobs;
  observe(add(jobs, 1, 7, 4), {.seconds = 60, .sharing = false});
  observe(jobs[1], {.seconds = 4});
  observe(add(jobs, 2, 7, 4), {.part = 0, .seconds = 4});
  correct_predictions(jobs);
  CHECK(cores_of(jobs[1]) == Approx(1));
  CHECK(cores_of(jobs[2]) == Approx(1));
}

TEST_CASE(
    "a job uses no measurements from outside its share or of lying pages") {
  OnePrepares share;
  SECTION("another share") { share.second.sharing.share = 8; }
  SECTION("another user") { share.second.uid = 1001; }
  SECTION("no share") { share.second.sharing.share = 0; }
  SECTION("the other job's page contradicts the kernel") {
    share.first.costs.contradicted = true;
  }
  SECTION("the other job had ten invalid observations") {
    for (int i = 0; i < 10; ++i)
      share.first.costs.corrector.add({.seconds = -1});
  }
  correct_predictions(share.jobs);
  CHECK(cores_of(share.first) == Approx(2));
  CHECK_FALSE(share.second.costs.corrected->demand_cores.known());
  CHECK_FALSE(share.second.costs.corrected->demand_bytes_per_s.known());
}

TEST_CASE("two jobs without a share have separate needs") {
  std::map<JobId, Job> jobs;
  observe(add(jobs, 1, 0, 1), {.sharing = false});
  observe(add(jobs, 2, 0, 1), {.cpu_s = 0.01, .sharing = false});
  correct_predictions(jobs);
  CHECK(cores_of(jobs[1]) == Approx(4));
  CHECK(cores_of(jobs[2]) == Approx(1));
}

TEST_CASE("the last job of a share keeps the cost measured in the share") {
  OnePrepares share;
  correct_predictions(share.jobs);
  SECTION("the other job has ended") { share.jobs.erase(1); }
  SECTION("the other job is stopped") { share.first.sharing.share = 0; }
  SECTION("the job prepares alone") { share.second.sharing.share = 0; }
  share.second.sharing.sharers = 1;
  correct_predictions(share.jobs);
  CHECK(cores_of(share.second) == Approx(4));
  CHECK(share.second.costs.corrected->demand_bytes_per_s.value == Approx(1e5));
  observe(share.second,
          {.cpu_s = 0.03, .seconds = 4});  // new measurements take precedence
  correct_predictions(share.jobs);
  CHECK(cores_of(share.second) == Approx(3));
}

TEST_CASE("the cost of a share is forgotten after 64 s outside of it") {
  OnePrepares share;
  correct_predictions(share.jobs);
  share.second.sharing.share = 0;
  const auto cost = [&] {
    correct_predictions(share.jobs);
    return share.second.costs.corrected->loader_cpu_s_per_sample;
  };
  observe(share.second, {.part = 0, .seconds = 63, .sharing = false});
  CHECK(cost().known());
  observe(share.second, {.part = 0, .seconds = 1, .sharing = false});
  CHECK_FALSE(cost().known());
}

TEST_CASE(
    "a new member of a share gets its cost even if the others end first") {
  OnePrepares share;
  Job& third = add(share.jobs, 3, 7, 2);
  correct_predictions(share.jobs);
  CHECK_FALSE(third.costs.corrected->demand_cores.known());
  share.jobs.erase(1);
  share.jobs.erase(2);
  observe(third, {.part = 0});
  correct_predictions(share.jobs);
  CHECK(cores_of(third) == Approx(2));
}

TEST_CASE("a job that joins a share keeps the prior of its earlier runs") {
  OnePrepares share;
  Job& third = add(share.jobs, 3, 7, 2);
  correct_predictions(share.jobs);
  third.costs.prior.emplace().demand_cores = Figure{3, 2, 4};
  correct_predictions(share.jobs);
  CHECK(cores_of(third) == 3);
}

TEST_CASE("an unmanaged job, or one without tasks, is not corrected") {
  std::map<JobId, Job> jobs;
  observe(add(jobs, 1, 0, 1), {});
  observe(add(jobs, 2, 0, 1), {});
  jobs[1].managed = false;
  jobs[2].tasks.clear();
  correct_predictions(jobs);
  CHECK_FALSE(jobs[1].costs.corrected);
  CHECK_FALSE(jobs[2].costs.corrected);
}

TEST_CASE("uncounted bytes keep the profile's value") {
  std::map<JobId, Job> jobs;
  Job& job = add(jobs, 1, 0, 1);
  observe(job, {});
  job.reads.knows_bytes = false;
  correct_predictions(jobs);
  CHECK_FALSE(job.costs.corrected->storage_bytes_per_sample.known());
  CHECK_FALSE(job.costs.corrected->demand_bytes_per_s.known());
  job.costs.prior.emplace();
  job.costs.prior->storage_bytes_per_sample = Figure{300, 200, 400};
  correct_predictions(jobs);
  CHECK(job.costs.corrected->storage_bytes_per_sample.value == 300);
  CHECK(job.costs.corrected->demand_bytes_per_s.value == Approx(300 * kRate));
}

TEST_CASE("the first ceiling is recorded once, 10 s after the job's start") {
  constexpr uint64_t kSecond_ns = 1'000'000'000;
  std::map<JobId, Job> jobs;
  Job& job = add(jobs, 1, 0, 1);
  job.started_ns = 100 * kSecond_ns;
  observe(job, {});
  correct_predictions(jobs);
  REQUIRE(job.costs.corrected);
  const double ceiling = job.costs.corrected->ceiling_samples_per_s.value;
  note_first_ceiling(job, 109 * kSecond_ns);
  CHECK_FALSE(job.costs.first_corrected_ceiling);
  note_first_ceiling(job, 110 * kSecond_ns);
  REQUIRE(job.costs.first_corrected_ceiling);
  CHECK(job.costs.first_corrected_ceiling->value == ceiling);
  job.costs.corrected->ceiling_samples_per_s.value = 1;
  note_first_ceiling(job, 120 * kSecond_ns);
  CHECK(job.costs.first_corrected_ceiling->value == ceiling);
}
