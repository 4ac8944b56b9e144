#include "select_ext/ctld/stall_totals.h"

#include <cmath>
#include <random>

#include "tests/unit/catch.h"
#include "tests/unit/wire/job_records.h"

namespace penstock {
namespace {

using nlohmann::json;

// A run of `hours` on `gpus`, with figures for all of that time.
JobRecord run_of(double hours, uint32_t gpus) {
  JobRecord job;
  job.gpus = gpus;
  job.start_unix_s = 1780000000;
  job.end_unix_s = 1780000000 + hours * 3600;
  job.run.wall_s = hours * 3600;
  return job;
}

StallTotals totals_of(const std::vector<JobRecord>& jobs) {
  StallTotals totals;
  for (const JobRecord& job : jobs) totals.add(job);
  return totals;
}

TEST_CASE("hours are wall time times GPUs, not an average of shares") {
  JobRecord large = run_of(10, 8), small = run_of(1, 1);
  large.run.parts_s.fetch_stall = 36000 * 0.01;
  small.run.parts_s.fetch_stall = 3600 * 0.99;
  const StallTotals totals = totals_of({large, small});
  CHECK(totals.runs == 2);
  CHECK(totals.running == 0);
  CHECK(totals.ran_gpu_h == Approx(81));
  CHECK(totals.told_gpu_h == Approx(81));
  // 2.2% of the GPU hours, though the shares' mean is 50%.
  CHECK(totals.parts_gpu_h.fetch_stall == Approx(0.8 + 0.99));
  CHECK(totals.stalled_gpu_h == Approx(1.79));
  CHECK(totals.unattributed_gpu_h() == Approx(81 - 1.79));
  CHECK(totals.known_gpu_h.prep_stall == 0);
}

TEST_CASE("a rank counts as a GPU if Slurm reports none") {
  JobRecord job = run_of(2, 0);
  job.ranks = 3;
  CHECK(gpus_of(job) == 3);
  const StallTotals totals = totals_of({job, run_of(2, 1)});
  CHECK(totals.ran_gpu_h == Approx(8));
  CHECK(totals.stand_in_gpu_h == Approx(6));
}

TEST_CASE("a run lasts until its end, or until it was last seen") {
  JobRecord job = run_of(2, 1);
  CHECK(ran_s(job) == Approx(7200));
  job.end_unix_s.reset();
  job.last_seen_unix_s = 1780000000 + 9000;
  CHECK(ran_s(job) == Approx(9000));
  job.start_unix_s.reset();  // no data from Slurm
  CHECK(ran_s(job) == Approx(7200));
  CHECK(ran_s(JobRecord()) == 0);
}

TEST_CASE("unreported time counts as run time only") {
  JobRecord untold = run_of(5, 2), part = run_of(4, 1);
  untold.run = {};
  untold.end_unix_s.reset();
  untold.last_seen_unix_s = 1780000000 + 5 * 3600;
  part.run = {.wall_s = 3600, .parts_s = {.compute = 3600}, .waited_s = 0};
  const StallTotals totals = totals_of({untold, part});
  CHECK(totals.running == 1);
  CHECK(totals.ran_gpu_h == Approx(14));
  CHECK(totals.told_gpu_h == Approx(1));
  CHECK(totals.estimated_gpu_h == 0);
  CHECK(totals.known_gpu_h.compute == Approx(1));
  CHECK(totals.stalled_known_gpu_h == Approx(1));
  CHECK(totals.cores_known == 0);
}

TEST_CASE("hours estimated from the kernel's figures are counted separately") {
  JobRecord job = run_of(3, 1);
  job.run.parts_s.prep_stall = 100;
  CHECK(totals_of({job}).estimated_gpu_h == Approx(3));
}

TEST_CASE("core hours are added only for runs that report all three figures") {
  JobRecord job = run_of(1, 1), half = run_of(1, 1);
  job.run.home_core_s = 7200;
  job.run.away_core_s = 3600;
  job.run.lent_core_s = 1800;
  job.run.guest_core_s = 900;
  half.run.home_core_s = 7200;
  const StallTotals totals = totals_of({job, half});
  CHECK(totals.cores_known == 1);
  CHECK(totals.home_core_h == Approx(2));
  CHECK(totals.away_core_h == Approx(1));
  CHECK(totals.lent_core_h == Approx(0.5));
  CHECK(totals.guest_core_h == Approx(0.25));
}

TEST_CASE("the gain is the extra hours that a run would take at its floor") {
  JobRecord faster = run_of(10, 4), slower = run_of(10, 1);
  faster.run.active_s = slower.run.active_s = 9 * 3600;
  faster.mean_rate_samples_per_s = 150;
  slower.mean_rate_samples_per_s = 90;
  faster.run.floor_samples_per_s = slower.run.floor_samples_per_s = 100;
  const StallTotals totals = totals_of({faster, slower});
  CHECK(totals.judged_gpu_h == Approx(45));
  CHECK(totals.gained_gpu_h == Approx(36 * 0.5));
  CHECK(totals.below_floor_gpu_h == Approx(9 * 0.1));
  // The work of 36 GPU hours takes 54 at the floor.
  CHECK(36.0 * 150 / 100 - 36 == Approx(totals.gained_gpu_h));
}

TEST_CASE("without a floor, a rate or active time no gain is judged") {
  JobRecord job = run_of(10, 1);
  job.run.active_s = 3600;
  job.run.floor_samples_per_s = 100;
  job.mean_rate_samples_per_s = 150;
  CHECK(totals_of({job}).judged_gpu_h == Approx(1));
  for (auto field : {&RunTotals::active_s, &RunTotals::floor_samples_per_s}) {
    JobRecord less = job;
    (less.run.*field).reset();
    CHECK(totals_of({less}).judged_gpu_h == 0);
  }
  JobRecord rateless = job, floorless = job;
  rateless.mean_rate_samples_per_s.reset();
  floorless.run.floor_samples_per_s = 0;
  CHECK(totals_of({rateless, floorless}).judged_gpu_h == 0);
}

TEST_CASE("totals are read back from JSON, and invalid figures count as zero") {
  const StallTotals totals = totals_of({full_record(), run_of(1, 1)});
  CHECK(read_stall_totals(json::parse(to_json(totals).dump())) == totals);
  for (const char* text :
       {"null", "[]", R"({"runs": -1, "ran_gpu_h": "5", "told_gpu_h": -2})"}) {
    CHECK(read_stall_totals(json::parse(text)) == StallTotals());
  }
}

JobRecord random_record(std::mt19937_64& random) {
  std::uniform_real_distribution<double> share(0, 1);
  const auto maybe = [&](double value) {
    return random() % 4 ? std::optional(value) : std::nullopt;
  };
  JobRecord job = run_of(100 * share(random), uint32_t(random() % 9));
  job.ranks = uint32_t(1 + random() % 8);
  double left_s = *job.run.wall_s;
  for (const WallPartNames& it : kWallParts) {
    job.run.parts_s[it.part] = maybe(left_s * share(random));
    left_s -= job.run.parts_s[it.part].value_or(0);
  }
  job.run.waited_s = maybe(*job.run.wall_s * share(random));
  job.run.active_s = maybe(*job.run.wall_s * share(random));
  job.run.away_core_s = maybe(1000 * share(random));
  job.run.floor_samples_per_s = maybe(100 * share(random));
  job.mean_rate_samples_per_s = maybe(100 * share(random));
  if (random() % 5 == 0) job.run = {};
  return job;
}

TEST_CASE(
    "sums hold for any runs and do not depend on the division into pages") {
  const uint64_t seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<JobRecord> jobs(random() % 40);
    for (JobRecord& job : jobs) job = random_record(random);
    const StallTotals all = totals_of(jobs);
    CHECK(all.told_gpu_h <= all.ran_gpu_h * (1 + 1e-9));
    CHECK(all.judged_gpu_h <= all.told_gpu_h * (1 + 1e-9));
    CHECK(all.parts_gpu_h.compute + all.parts_gpu_h.fetch_stall +
              all.parts_gpu_h.prep_stall + all.parts_gpu_h.exchange_stall +
              all.unattributed_gpu_h() ==
          Approx(all.told_gpu_h).margin(1e-9));
    StallTotals pages;
    for (size_t begin = 0; begin < jobs.size();) {
      const size_t end = std::min(jobs.size(), begin + 1 + random() % 7);
      pages.add(totals_of({jobs.begin() + std::ptrdiff_t(begin),
                           jobs.begin() + std::ptrdiff_t(end)}));
      begin = end;
    }
    CHECK(pages.runs == all.runs);
    CHECK(pages.ran_gpu_h == Approx(all.ran_gpu_h));
    CHECK(pages.stalled_gpu_h == Approx(all.stalled_gpu_h));
    CHECK(pages.gained_gpu_h == Approx(all.gained_gpu_h));
    CHECK(pages.below_floor_gpu_h == Approx(all.below_floor_gpu_h));
  }
}

TEST_CASE("observed runs add what lending would have saved of them") {
  JobRecord job = run_of(10, 4);
  job.run.observed_s = 36000;
  job.run.would_borrow_core_s = 7200;
  job.run.would_lend_core_s = 3600;
  job.run.would_save_s = 3600;
  job.run.would_save_low_s = 1800;
  job.run.would_save_high_s = 5400;
  JobRecord unknown = run_of(1, 1);
  unknown.run.observed_s = 3600;
  JobRecord acted = run_of(5, 1);
  acted.run.observed_s = 0;
  acted.run.would_save_s = 0;
  const StallTotals totals = totals_of({job, unknown, acted, run_of(3, 1)});
  CHECK(totals.observed_gpu_h == Approx(41));
  CHECK(totals.would_judged_gpu_h == Approx(40));
  CHECK(totals.would_save_gpu_h == Approx(4));
  CHECK(totals.would_save_low_gpu_h == Approx(2));
  CHECK(totals.would_save_high_gpu_h == Approx(6));
  CHECK(totals.would_borrow_core_h == Approx(2));
  CHECK(totals.would_lend_core_h == Approx(1));
}

TEST_CASE(
    "a run is in a group if its mode never changed and its stall is known") {
  JobRecord observed = run_of(10, 2);
  observed.run.observed_s = 35990;  // sampling begins a moment later
  observed.run.waited_s = 7200;
  JobRecord acted = run_of(10, 1);
  acted.run.observed_s = 0;
  acted.run.waited_s = 3600;
  JobRecord changed = acted;
  changed.run.observed_s = 18000;
  JobRecord older = acted;  // of an agent that does not know modes
  older.run.observed_s.reset();
  JobRecord unknown = observed;
  unknown.run.waited_s.reset();
  const StallTotals totals =
      totals_of({observed, acted, changed, older, unknown});
  CHECK(totals.observed.runs == 1);
  CHECK(totals.observed.gpu_h == Approx(20));
  CHECK(totals.observed.stalled_gpu_h == Approx(4));
  CHECK(totals.observed.shares == Approx(0.2));
  CHECK(totals.acted.runs == 1);
  CHECK(totals.acted.stalled_gpu_h == Approx(1));
}

TEST_CASE("the groups' difference has an interval that holds the truth") {
  GroupTotals observed, acted;
  CHECK_FALSE(difference_of(observed, acted));
  const unsigned seed = 7;
  INFO("seed " << seed);
  int missed = 0;
  constexpr int kTrials = 400;
  std::mt19937 random(seed);
  const auto group_of = [&](double mean, int runs) {
    std::normal_distribution<double> share(mean, 0.1);
    GroupTotals group;
    for (int i = 0; i < runs; ++i) {
      const double it = share(random);
      ++group.runs;
      group.shares += it;
      group.squares += it * it;
    }
    return group;
  };
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto found = difference_of(group_of(0.3, 950), group_of(0.2, 50));
    REQUIRE(found);
    CHECK(found->low < found->value);
    missed += found->low > 0.1 || found->high < 0.1;
  }
  // 5% of 400 are 20, with a standard deviation of 4.4.
  CHECK(missed < 20 + 5 * 4.4);
  CHECK_FALSE(difference_of(group_of(0.3, 950), group_of(0.2, 19)));
}

}  // namespace
}  // namespace penstock
