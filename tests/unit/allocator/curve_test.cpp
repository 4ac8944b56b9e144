#include "select_ext/allocator/curve.h"

#include <cmath>
#include <limits>

#include "tests/unit/catch.h"

namespace penstock::allocator {
namespace {

const Curve kCurve = {{10, 1}, {20, 3}, {25, 6}};

TEST_CASE("cores_at and rate_at follow the pieces and the last slope") {
  const double pairs[][2] = {{0, 0},  {5, 0.5},  {10, 1}, {15, 2},
                             {20, 3}, {22, 4.2}, {25, 6}, {30, 9}};
  for (const auto& [rate, cores] : pairs) {
    CHECK(cores_at(kCurve, rate) == Approx(cores));
    CHECK(rate_at(kCurve, cores) == Approx(rate));
  }
}

TEST_CASE("an explicit first point (0,0) changes nothing") {
  const Curve curve = {{0, 0}, {10, 1}, {20, 3}};
  CHECK(cores_at(curve, 5) == Approx(0.5));
  CHECK(rate_at(curve, 2) == Approx(15));
}

TEST_CASE("a curve of zero cost allows any rate") {
  CHECK(std::isinf(rate_at({{10, 0}}, 0)));
  CHECK(std::isinf(rate_at({{10, 0}}, 4)));
  CHECK(cores_at({{10, 0}}, 100) == 0);
  // Free up to 10 only.
  CHECK(rate_at({{10, 0}, {20, 1}}, 0) == Approx(10));
}

TEST_CASE("concave points are their own hull") {
  const Result<Curve> hull = concave_hull({{2, 18}, {1, 10}, {3, 24}});
  REQUIRE(hull);
  REQUIRE(hull->size() == 3);
  CHECK((*hull)[0].rate == 10);
  CHECK((*hull)[0].cores == 1);
  CHECK((*hull)[2].rate == 24);
}

// Synergy's alexnet: slow at first, and flat at the end.
TEST_CASE("points under the hull and past the peak are dropped") {
  const Result<Curve> hull =
      concave_hull({{1, 0.3}, {2, 0.66}, {3, 1}, {6, 1.75}, {9, 2}, {12, 2}});
  REQUIRE(hull);
  REQUIRE(hull->size() == 3);
  CHECK((*hull)[0].cores == 3);
  CHECK((*hull)[1].cores == 6);
  CHECK((*hull)[2].cores == 9);
  CHECK(cores_at(*hull, 0.66) == Approx(1.98));
}

TEST_CASE("the faster of two points with equal cores is used") {
  const Result<Curve> hull = concave_hull({{1, 5}, {1, 8}, {2, 9}});
  REQUIRE(hull);
  CHECK((*hull)[0].rate == 8);
  CHECK(hull->size() == 2);
}

TEST_CASE("the hull lies on or above every point and is convex in cores") {
  const std::vector<MeasuredPoint> points = {{1, 3},  {2, 2},  {3, 9}, {4, 9.5},
                                             {5, 16}, {6, 16}, {8, 17}};
  const Result<Curve> hull = concave_hull(points);
  REQUIRE(hull);
  for (const MeasuredPoint& point : points) {
    CHECK(rate_at(*hull, point.cores) >= point.rate * (1 - 1e-12));
  }
  Problem problem;
  problem.jobs.emplace_back();
  problem.jobs[0].ceiling = 17;
  problem.jobs[0].cores_curve = *hull;
  CHECK(validate(problem));
}

void check_refused(const std::vector<MeasuredPoint>& points,
                   const char* message) {
  const Result<Curve> hull = concave_hull(points);
  REQUIRE(!hull);
  CHECK(hull.error().code == Code::kInvalidArgument);
  CHECK(hull.error().message == message);
}

TEST_CASE("measured points out of range are refused with their index") {
  const double nan = std::nan("");
  check_refused({{1, 2}, {0, 3}},
                "measured point 1: cores is 0, must be finite and over 0");
  check_refused({{nan, 3}},
                "measured point 0: cores is nan, must be finite and over 0");
  check_refused({{1, 2}, {2, -3}},
                "measured point 1: rate is -3, must be finite and at least 0");
  check_refused({{1, INFINITY}},
                "measured point 0: rate is inf, must be finite and at least 0");
  check_refused({{1, 0}, {2, 0}}, "no measured point has a rate over 0");
  check_refused({}, "no measured point has a rate over 0");
}

TEST_CASE("a grant between two points is rounded down to the lower one") {
  const std::vector<MeasuredPoint> points = {{1, 3}, {2, 6.6}, {3, 12}};
  const Result<PointGrant> grant = round_down_to_point(points, 2.5);
  REQUIRE(grant);
  CHECK(grant->cores == 2);
  CHECK(grant->rate == Approx(6.6));
  CHECK(grant->loss_cores == Approx(0.5));
  CHECK(grant->loss_rate == Approx(10 - 6.6));  // the hull gives 4 per core
}

TEST_CASE("a grant on a point of the hull has no loss") {
  const Result<PointGrant> grant = round_down_to_point({{1, 3}, {3, 12}}, 3);
  REQUIRE(grant);
  CHECK(grant->rate == 12);
  CHECK(grant->loss_cores == 0);
  CHECK(grant->loss_rate == Approx(0).margin(1e-12));
}

TEST_CASE("a grant below the first point is lost completely") {
  const Result<PointGrant> grant = round_down_to_point({{2, 8}}, 1);
  REQUIRE(grant);
  CHECK(grant->cores == 0);
  CHECK(grant->rate == 0);
  CHECK(grant->loss_cores == 1);
  CHECK(grant->loss_rate == Approx(4));
}

TEST_CASE(
    "past the peak a grant is rounded to the cheapest of the fastest points") {
  const Result<PointGrant> grant =
      round_down_to_point({{1, 3}, {2, 5}, {3, 5}, {4, 4}}, 6);
  REQUIRE(grant);
  CHECK(grant->cores == 2);
  CHECK(grant->rate == 5);
  CHECK(grant->loss_cores == 4);
  CHECK(grant->loss_rate == Approx(0).margin(1e-12));
}

TEST_CASE("round_down_to_point refuses invalid curves") {
  CHECK(!round_down_to_point({}, 1));
  const Result<PointGrant> grant = round_down_to_point({{1, 1}}, -1);
  REQUIRE(!grant);
  CHECK(grant.error().code == Code::kInvalidArgument);
  CHECK(grant.error().message == "granted_cores is -1, must be at least 0");
  CHECK(!round_down_to_point({{1, 1}}, std::nan("")));
}

}  // namespace
}  // namespace penstock::allocator
