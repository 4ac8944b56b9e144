#include "select_ext/ctld/earlier_runs.h"

#include "tests/unit/catch.h"
#include "tests/unit/wire/job_records.h"

namespace penstock {
namespace {

JobRecord run_of(double ceiling) {
  JobRecord run = full_record();
  run.ceiling_samples_per_s = ceiling;
  return run;
}

double ceiling_of(const std::optional<Profile>& profile) {
  REQUIRE(profile);
  return 1 / profile->accelerator_s_per_sample;
}

TEST_CASE("a user's earlier runs of a kind give the profile of the next run") {
  EarlierRuns runs;
  const JobRecord first = run_of(100);
  JobRecord foreign = run_of(7), other = run_of(9), running = run_of(11);
  foreign.uid = 1234;
  other.kind = "another";
  running.end_unix_s.reset();
  for (const JobRecord& run : {first, foreign, other, running, run_of(400)}) {
    runs.add(run);
  }
  const auto profile = runs.profile_for(1000, first.kind);
  CHECK(ceiling_of(profile) == Approx(200));
  CHECK(profile->name == "earlier runs");
  CHECK(ceiling_of(runs.profile_for(1234, first.kind)) == Approx(7));
  CHECK_FALSE(runs.profile_for(1000, "none"));
  CHECK(runs.kinds() == 3);
}

TEST_CASE("only the latest runs count") {
  EarlierRuns runs;
  for (int i = 0; i < 100; ++i) runs.add(run_of(1e6));
  for (int i = 0; i < kMaxRunsOfProfile; ++i) runs.add(run_of(50));
  CHECK(ceiling_of(runs.profile_for(1000, full_record().kind)) == Approx(50));
}

TEST_CASE("the kind with the oldest latest run is forgotten first") {
  EarlierRuns runs;
  JobRecord run = run_of(100);
  for (size_t i = 0; i < EarlierRuns::kMaxKinds; ++i) {
    run.kind = std::to_string(i);
    runs.add(run);
  }
  run.kind = "0";
  runs.add(run);
  run.kind = "new";
  runs.add(run);
  CHECK(runs.kinds() == EarlierRuns::kMaxKinds);
  CHECK(runs.profile_for(1000, "0"));
  CHECK(runs.profile_for(1000, "new"));
  CHECK_FALSE(runs.profile_for(1000, "1"));
}

}  // namespace
}  // namespace penstock
