#include "node_agent/plan/job_accounts.h"

#include "tests/unit/catch.h"

using namespace penstock;

TEST_CASE("a job's account is the last one announced, until its end") {
  JobAccounts accounts;
  CHECK(accounts.of(7) == "");
  accounts.set(7, "physics");
  accounts.set(8, "chemistry");
  CHECK(accounts.of(7) == "physics");
  accounts.set(7, "biology");  // requeued
  CHECK(accounts.of(7) == "biology");
  accounts.set(7, "");
  CHECK(accounts.of(7) == "");
  accounts.forget(8);
  CHECK(accounts.of(8) == "");
}

TEST_CASE("the number of accounts is bounded, the oldest are dropped first") {
  JobAccounts accounts;
  const JobId last = JobAccounts::kMaxJobs + 1;
  for (JobId job = 1; job <= last; ++job) accounts.set(job, "physics");
  CHECK(accounts.of(1) == "");
  CHECK(accounts.of(2) == "physics");
  CHECK(accounts.of(last) == "physics");
}
