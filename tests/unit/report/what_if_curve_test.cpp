#include "report/what_if_curve.h"

#include "samples.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

// The rate at an amount of cores, between the points.
double rate_at(const WhatIfCurve& curve, double cores) {
  for (size_t i = 1; i < curve.points.size(); ++i) {
    const WhatIfPoint& left = curve.points[i - 1];
    const WhatIfPoint& right = curve.points[i];
    if (cores > right.cores) continue;
    const double part = (cores - left.cores) / (right.cores - left.cores);
    return left.rate.value + part * (right.rate.value - left.rate.value);
  }
  return -1;
}

JobReport without_limit() {
  JobReport report = samples::input_bound();
  report.bandwidth.granted_bytes_per_s.reset();
  return report;
}

TEST_CASE("the rate grows with the cores up to the ceiling") {
  const auto curve = what_if_of(without_limit());
  REQUIRE(curve);
  // 846 samples/s need 3.6 cores.
  CHECK(rate_at(*curve, 0) == 0);
  CHECK(rate_at(*curve, 1.8) == Approx(423));
  CHECK(rate_at(*curve, 3.6) == Approx(846));
  CHECK(rate_at(*curve, 4.9) == Approx(846));
  CHECK(curve->ceiling == 846);
  CHECK(curve->here_cores == Approx(0.88 + 0.71));
  CHECK(curve->here_rate == 584);
  CHECK(curve->basis.find("3.60 loader cores") != std::string::npos);
  CHECK(curve->basis.find("bandwidth") == std::string::npos);
}

TEST_CASE("intervals hold the rate, cores ascend, and here is on the axis") {
  const auto curve = what_if_of(samples::input_bound());
  REQUIRE(curve);
  double last = -1;
  for (const WhatIfPoint& point : curve->points) {
    CHECK(point.rate.low <= point.rate.value);
    CHECK(point.rate.value <= point.rate.high);
    CHECK(point.cores > last);
    last = point.cores;
  }
  CHECK(last >= curve->here_cores);
}

TEST_CASE("the bandwidth granted bounds the rate, and the basis says so") {
  JobReport report = samples::input_bound();
  report.bandwidth.demand_bytes_per_s = Estimate::exact(2e6);
  report.bandwidth.granted_bytes_per_s = 1e6;
  const auto curve = what_if_of(report);
  REQUIRE(curve);
  CHECK(curve->points.back().rate.value == Approx(423));
  CHECK(curve->basis.find("the bandwidth granted allows 423 samples/s") !=
        std::string::npos);
}

TEST_CASE("without a measured ceiling the corrected one counts") {
  JobReport report = without_limit();
  report.ceiling.measured.reset();
  CHECK(what_if_of(report)->ceiling == 850);
  report.ceiling.corrected.reset();
  CHECK(what_if_of(report)->ceiling == 812);
}

TEST_CASE("no curve without the figures that it takes") {
  CHECK_FALSE(what_if_of(samples::unknown()));
  JobReport report = samples::input_bound();
  SECTION("ceiling") { report.ceiling = {}; }
  SECTION("demand") { report.cores.demand.reset(); }
  SECTION("a demand of nothing") { report.cores.demand = Estimate{}; }
  SECTION("throughput") { report.throughput.measured.reset(); }
  SECTION("cores used") { report.cores.used_home.reset(); }
  CHECK_FALSE(what_if_of(report));
}

}  // namespace
}  // namespace penstock
