#include "node_agent/correction.h"

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr double kRate = 100;

struct Seen {
  double part = 0;  // that it prepares, of what each of the sharers consumes
  double sharers = 1;
};

// A managed job that was seen for 20 s; of a sample 0.04 s and 1000 bytes.
Job& add(std::map<JobId, Job>& jobs, JobId id, uint64_t share, Seen seen) {
  Job& job = jobs[id];
  job.uid = 1000;
  job.managed = true;
  job.tasks[100];
  job.share = share;
  for (int i = 0; i < 22; ++i) {
    Observation o;
    o.seconds = o.sampled_s = 1;
    o.samples = kRate;
    o.prepared = kRate * seen.part * seen.sharers;
    o.loader_cpu_s = kRate * seen.part * 0.04;
    o.bytes = kRate * seen.part * 1000;
    o.sharing = seen.sharers > 1;
    job.corrector.add(o);
  }
  job.knows_bytes = seen.part > 0;
  return job;
}

double cores_of(const Job& job) { return job.corrected->demand_cores.value; }

}  // namespace

TEST_CASE("which of two jobs that share prepares is no part of their needs") {
  std::map<JobId, Job> jobs;
  add(jobs, 1, 7, {1, 2});
  add(jobs, 2, 7, {0, 2});
  correct_predictions(jobs);
  for (const auto& [id, job] : jobs) {
    CHECK(cores_of(job) == Approx(2));
    CHECK(job.corrected->demand_bytes_per_s.value == Approx(50000));
  }
}

TEST_CASE("what jobs of no common share do tells nothing of each other") {
  std::map<JobId, Job> jobs;
  add(jobs, 1, 7, {1, 2});
  Job& idle = add(jobs, 2, 7, {0, 2});
  SECTION("another share") { idle.share = 8; }
  SECTION("another user's") { idle.uid = 1001; }
  SECTION("none") { idle.share = 0; }
  SECTION("another one whose page lies") { jobs[1].contradicted = true; }
  correct_predictions(jobs);
  CHECK(cores_of(jobs[1]) == Approx(2));
  CHECK_FALSE(idle.corrected->demand_cores.known());
  CHECK_FALSE(idle.corrected->demand_bytes_per_s.known());
}

TEST_CASE("two jobs without a share have each their own needs") {
  std::map<JobId, Job> jobs;
  add(jobs, 1, 0, {1, 1});
  add(jobs, 2, 0, {0.5, 1});
  correct_predictions(jobs);
  CHECK(cores_of(jobs[1]) == Approx(4));
  CHECK(cores_of(jobs[2]) == Approx(4));
}

TEST_CASE("a job that is not sampled is not corrected") {
  std::map<JobId, Job> jobs;
  add(jobs, 1, 0, {1, 1}).managed = false;
  add(jobs, 2, 0, {1, 1}).tasks.clear();
  correct_predictions(jobs);
  CHECK_FALSE(jobs[1].corrected);
  CHECK_FALSE(jobs[2].corrected);
}

TEST_CASE("bytes that nobody counts stay as the profile has them") {
  std::map<JobId, Job> jobs;
  Job& job = add(jobs, 1, 0, {1, 1});
  job.knows_bytes = false;
  job.prior.emplace();
  job.prior->storage_bytes_per_sample = Figure{300, 200, 400};
  job.prior->demand_bytes_per_s = Figure{3e4, 2e4, 4e4};
  correct_predictions(jobs);
  CHECK(job.corrected->storage_bytes_per_sample.value == 300);
  CHECK(job.corrected->demand_bytes_per_s.value == 3e4);
}
