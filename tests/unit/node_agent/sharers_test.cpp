#include "node_agent/sharers.h"

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

Job job_of(uid_t uid, const std::vector<uint64_t>& shares) {
  Job job;
  job.uid = uid;
  for (const uint64_t share : shares) {
    Rank rank{.pages = *TaskPages::create()};
    rank.progress.emplace();
    rank.progress->share = share;
    job.tasks[100].ranks.push_back(std::move(rank));
  }
  return job;
}

}  // namespace

TEST_CASE("jobs of one user with the same share number form a share") {
  std::map<JobId, Job> jobs;
  jobs.emplace(1, job_of(1000, {7}));
  jobs.emplace(2, job_of(1000, {7, 7}));
  jobs.emplace(3, job_of(1000, {8}));
  jobs.emplace(4, job_of(1000, {0}));
  jobs.emplace(5, job_of(1001, {7}));  // another user's number
  jobs.emplace(6, job_of(1000, {}));
  count_sharers(jobs);
  CHECK(jobs.at(1).sharing.sharers == 3);
  CHECK(jobs.at(2).sharing.sharers == 3);
  CHECK(jobs.at(3).sharing.sharers == 1);
  CHECK(jobs.at(4).sharing.sharers == 1);
  CHECK(jobs.at(5).sharing.sharers == 1);
  CHECK(jobs.at(6).sharing.sharers == 1);
  CHECK(jobs.at(1).sharing.share == 7);
  CHECK(jobs.at(2).sharing.share == 7);
  CHECK(jobs.at(3).sharing.share == 8);
  CHECK(jobs.at(4).sharing.share == 0);
}

TEST_CASE("a job that ended, is stopped or prepares alone leaves its share") {
  std::map<JobId, Job> jobs;
  jobs.emplace(1, job_of(1000, {7}));
  jobs.emplace(2, job_of(1000, {7}));
  jobs.emplace(3, job_of(1000, {7}));
  jobs.at(2).tasks[100].ranks[0].gone = true;
  count_sharers(jobs);
  CHECK(jobs.at(1).sharing.sharers == 2);
  CHECK(jobs.at(2).sharing.sharers == 1);
  jobs.at(1).stopped = true;
  count_sharers(jobs);
  CHECK(jobs.at(1).sharing.share == 0);
  CHECK(jobs.at(1).sharing.most_sharers == 2);
  CHECK(jobs.at(3).sharing.sharers == 1);
  jobs.at(1).stopped = false;
  jobs.at(3).tasks[100].ranks[0].progress->share = 0;
  count_sharers(jobs);
  CHECK(jobs.at(1).sharing.sharers == 1);
}

TEST_CASE(
    "a job without progress for a minute leaves its share, and may rejoin") {
  std::map<JobId, Job> jobs;
  jobs.emplace(1, job_of(1000, {7}));
  jobs.emplace(2, job_of(1000, {7}));
  jobs.emplace(3, job_of(1000, {8}));  // no progress, but alone in its share
  const auto updated_ns = [&](JobId id) -> uint64_t& {
    return jobs.at(id).tasks[100].ranks[0].progress->updated_ns;
  };
  updated_ns(1) = 100'000'000'000;
  updated_ns(2) = 40'000'000'000;
  count_sharers(jobs);
  CHECK(jobs.at(1).sharing.sharers == 2);
  updated_ns(1) += 1;
  count_sharers(jobs);
  CHECK(jobs.at(1).sharing.sharers == 1);
  CHECK(jobs.at(1).sharing.share == 7);
  CHECK(jobs.at(2).sharing.share == 0);
  CHECK(jobs.at(3).sharing.share == 8);
  updated_ns(2) = updated_ns(1);
  count_sharers(jobs);
  CHECK(jobs.at(2).sharing.sharers == 2);
}
