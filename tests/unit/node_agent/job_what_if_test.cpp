#include "node_agent/job_what_if.h"

#include "node_agent/reporter.h"
#include "predictor/corner.h"
#include "tests/unit/catch.h"

using namespace penstock;

namespace {

constexpr uint64_t kSecond = 1'000'000'000;

// Two ranks with a ceiling of 100 samples/s each. Each had two cores for its
// loader, which needs 40 ms of CPU for a sample.
struct Fixture {
  Fixture() {
    context.config = &config;
    context.now_ns = 101 * kSecond;
    job.started_ns = 1 * kSecond;
    job.widest.tasks = 2;
    for (int rank = 0; rank < 2; ++rank) {
      Progress page;
      page.started_ns = 1 * kSecond;
      page.updated_ns = 101 * kSecond;
      page.samples = 5000;
      page.wait_ns = 50 * kSecond;
      job.ended.add(page);
    }
    job.totals.granted_home_core_s = 300;
    job.totals.granted_away_core_s = 100;
    job.totals.home_cpu_s = 300;
    job.totals.away_cpu_s = 100;
    Prediction measured;
    measured.ceiling_samples_per_s = {100, 95, 105};
    measured.loader_cpu_s_per_sample = {0.04, 0.032, 0.05};
    measured.basis = "measured 64 s";
    job.costs.corrected = measured;
  }

  WhatIfCurve curve() const {
    return what_if_of(job, build_report(job, context, false));
  }

  Profile& profile() {
    Profile measured;
    measured.name = "resnet";
    measured.accelerator_s_per_sample = 0.01;
    measured.cores = {1, 2, 4};
    measured.rate_at_cores = {30, 50, 80};
    measured.relative_error = 0.1;
    return job.costs.profile.emplace(measured);
  }

  Config config;
  ReportContext context;
  Job job;
};

Estimate rate_at(const WhatIfCurve& curve, double cores) {
  for (const RateAtCores& point : curve.points) {
    if (point.cores == Approx(cores)) return point.rate;
  }
  FAIL("no point at " << cores << " cores");
  return {};
}

bool says(const std::vector<std::string>& notes, const std::string& text) {
  return std::any_of(notes.begin(), notes.end(), [&](const auto& note) {
    return note.find(text) != note.npos;
  });
}

}  // namespace

TEST_CASE("a measured cost gives a straight line up to the ceiling") {
  const Fixture f;
  const WhatIfCurve curve = f.curve();
  CHECK(curve.unknown.empty());
  CHECK(curve.ceiling == Approx(200));
  CHECK(*curve.here_cores == Approx(4));
  CHECK(*curve.here_rate == Approx(100));
  CHECK(rate_at(curve, 0) == Estimate{});
  CHECK(rate_at(curve, 4).value == Approx(100).epsilon(0.01));
  CHECK(rate_at(curve, 4).low == Approx(80).epsilon(0.01));
  CHECK(rate_at(curve, 4).high == Approx(125));
  CHECK(curve.points.back().rate.value == Approx(200).epsilon(0.01));
  CHECK(*curve.measured_cores == Approx(4));
  CHECK(curve.basis ==
        "40 ms of CPU for a sample, measured in this run; the ceiling is "
        "measured in this run");
  CHECK(says(curve.notes, "Near the ceiling the rate is below both limits"));
}

TEST_CASE("beyond the measured cores the line is less steep") {
  const Fixture f;
  const WhatIfCurve curve = f.curve();
  // For 97% of 200 samples/s the loader must make more, as the corner is blunt:
  // 25 a core, of which three quarters are expected.
  const double needed = beyond_corner(200, 194, 8);
  const double enough = 4 + (needed - 100) / (0.75 * 25);
  CHECK(*curve.enough_cores == Approx(enough));
  const Estimate there = rate_at(curve, enough);
  CHECK(there.value == Approx(194));
  const double least = 0.8 * (100 + 0.5 * 25 * (enough - 4));
  CHECK(there.low == Approx(corner(200, least, 4)));
  CHECK(there.high == Approx(200).epsilon(0.01));
  CHECK(curve.points.back().cores == Approx(1.25 * enough));
  CHECK(says(curve.notes, "A core beyond the measured ones brings 75% of one"));
}

TEST_CASE("a profile's curve takes precedence over a straight line") {
  Fixture f;
  f.profile().corner_ceiling = 20;
  const WhatIfCurve curve = f.curve();
  CHECK(curve.basis ==
        "profile resnet, measured at 1 to 4 loader cores of a rank; the "
        "ceiling is measured in this run");
  CHECK(rate_at(curve, 4).value == Approx(100).epsilon(0.01));
  CHECK(rate_at(curve, 4).low == Approx(90).epsilon(0.01));
  CHECK(*curve.measured_cores == Approx(8));
  // 4 cores of a rank make 80 samples/s, and 100 need a quarter more.
  CHECK(*curve.enough_cores > 8);
  CHECK_FALSE(says(curve.notes, "How sharply"));
}

TEST_CASE("the curve assumes a thread for each core, and says so") {
  Fixture f;
  f.job.loader.most_threads = 6;
  const WhatIfCurve curve = f.curve();
  CHECK(curve.enough_cores);
  CHECK(curve.points.back().rate.value == Approx(200).epsilon(0.01));
  CHECK(says(curve.notes, "at most, and 6 ran: more cores need as many"));
  f.job.widest.elastic = true;
  CHECK_FALSE(says(f.curve().notes, "6 ran"));
}

TEST_CASE("a trainer that loads its data itself has a measured cost") {
  Fixture f;
  f.job.costs.corrected->loader_cpu_s_per_sample = {};
  CHECK_FALSE(f.curve().unknown.empty());
  Progress page;
  page.started_ns = 1 * kSecond;
  page.updated_ns = 101 * kSecond;
  page.samples = page.prepared = 5000;
  page.wait_ns = 50 * kSecond;
  page.prep_ns = 40 * kSecond;
  f.job.ended = {};
  f.job.ended.add(page);
  f.job.totals.job_cpu_s = 45;
  const JobReport report = build_report(f.job, f.context, false);
  CHECK(report.cores.loader_kind == LoaderKind::kTrainer);
  CHECK(*report.cores.loader_threads == 0);
  const WhatIfCurve curve = f.curve();
  CHECK(curve.basis.starts_with("8 ms of CPU for a sample, measured in this"));
  CHECK(*curve.measured_cores == Approx(0.4));
}

TEST_CASE("storage limits the curve if its bandwidth is known") {
  Fixture f;
  f.job.costs.corrected->storage_bytes_per_sample = {1e6, 1e6, 1e6};
  CHECK(says(f.curve().notes, "What storage supplies is not known"));
  SECTION("known from the grant") { f.job.widest.grant.bytes_per_s = 1.5e8; }
  SECTION("known from the profile") { f.profile().fetch_bytes_per_s = 0.75e8; }
  SECTION("the smaller of both") {
    f.profile().fetch_bytes_per_s = 0.75e8;
    f.job.widest.grant.bytes_per_s = 1e9;
  }
  const WhatIfCurve curve = f.curve();
  CHECK(curve.points.back().rate.value <= 150);
  CHECK_FALSE(curve.enough_cores);
  CHECK(curve.why_not_enough ==
        "storage supplies too little for any number of cores");
  CHECK_FALSE(says(curve.notes, "What storage supplies"));
}

TEST_CASE("a job without measurements uses its profile's prediction") {
  Fixture f;
  f.job.ended = {};
  f.job.costs.corrected.reset();
  f.job.totals.home_cpu_s = f.job.totals.away_cpu_s = 0;
  Prediction prior;
  prior.ceiling_samples_per_s = {100, 75, 125};
  prior.loader_cpu_s_per_sample = {0.04, 0.03, 0.05};
  prior.basis = "profile alexnet";
  f.job.costs.prior = prior;
  const WhatIfCurve curve = f.curve();
  CHECK(curve.ceiling == Approx(200));
  CHECK_FALSE(curve.measured_cores);
  CHECK_FALSE(curve.here_rate);
  CHECK(curve.basis.find("profile alexnet") != std::string::npos);
  CHECK(curve.basis.find("the ceiling is predicted") != std::string::npos);
}

TEST_CASE("a missing curve is reported with its reason") {
  Fixture f;
  std::string why;
  SECTION("no ceiling") {
    f.job.ended = {};
    why = "the ceiling is not known";
  }
  SECTION("no cost") {
    f.job.costs.corrected->loader_cpu_s_per_sample = {};
    why = "what a sample costs the loader is not known";
  }
  SECTION("a cost of zero") {
    f.job.costs.corrected->loader_cpu_s_per_sample = {0, 0, 0};
    why = "what a sample costs the loader is not known";
  }
  SECTION("pages that contradict the kernel") {
    f.job.costs.contradicted = true;
    why = "the job's own figures contradict the kernel's";
  }
  const WhatIfCurve curve = f.curve();
  CHECK(curve.unknown.starts_with(why));
  CHECK(curve.points.empty());
}

TEST_CASE("intervals contain the rate, cores ascend, rates do not fall") {
  Fixture f;
  f.job.costs.corrected->storage_bytes_per_sample = {1e6, 0.5e6, 2e6};
  f.job.widest.grant.bytes_per_s = 1.8e8;
  SECTION("a line") {}
  SECTION("a curve") { f.profile().corner_storage = 3; }
  SECTION("a cost whose interval includes zero") {
    f.job.costs.corrected->loader_cpu_s_per_sample = {0.04, 0, 0.5};
  }
  const WhatIfCurve curve = f.curve();
  REQUIRE(curve.points.size() > 32);
  REQUIRE(curve.points.size() <= kMaxWhatIfPoints);
  for (size_t i = 1; i < curve.points.size(); ++i) {
    const RateAtCores& point = curve.points[i];
    CHECK(point.rate.low <= point.rate.value);
    CHECK(point.rate.value <= point.rate.high);
    CHECK(point.cores > curve.points[i - 1].cores);
    CHECK(point.rate.value >= curve.points[i - 1].rate.value * (1 - 1e-12));
  }
}
