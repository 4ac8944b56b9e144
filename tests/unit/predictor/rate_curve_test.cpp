#include "predictor/rate_curve.h"

#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE("rates belong to the given cores, by default 1, 2, 3 ...") {
  Profile profile;
  CHECK(rate_curve(profile).empty());
  profile.rate_at_cores = {40, 100};
  RateCurve curve = rate_curve(profile);
  REQUIRE(curve.size() == 2);
  CHECK(curve[0].cores == 1);
  CHECK(curve[1].cores == 2);
  CHECK(curve[1].samples_per_s == 100);
  profile.cores = {0.25, 1.5};
  curve = rate_curve(profile);
  CHECK(curve[0].cores == 0.25);
  CHECK(curve[1].cores == 1.5);
}

TEST_CASE("the curve is linear from zero through the points and beyond") {
  const RateCurve curve = {{0.5, 40}, {1.5, 100}, {2, 110}};
  const struct {
    double cores, rate;
  } rows[] = {{0, 0},     {0.25, 20},  {0.5, 40}, {1, 70},
              {1.5, 100}, {1.75, 105}, {2, 110},  {4, 220}};
  for (const auto& row : rows) {
    CAPTURE(row.cores);
    CHECK(rate_of_cores(curve, row.cores) == Approx(row.rate));
    CHECK(cores_for_rate(curve, row.rate) == Approx(row.cores));
  }
}

TEST_CASE("a dip in the curve neither lowers the rate nor counts twice") {
  const RateCurve curve = {{1, 50}, {2, 100}, {3, 80}, {4, 120}};
  CHECK(rate_of_cores(curve, 3) == 100);
  CHECK(rate_of_cores(curve, 3.25) == 100);  // the line is at 90
  CHECK(rate_of_cores(curve, 3.75) == Approx(110));
  CHECK(cores_for_rate(curve, 100) == Approx(2));
  CHECK(cores_for_rate(curve, 110) == Approx(3.75));
  // A curve that ends in a dip is extended from the highest rate.
  const RateCurve falls = {{1, 100}, {2, 50}};
  CHECK(rate_of_cores(falls, 3) == 100);
  CHECK(rate_of_cores(falls, 8) == Approx(200));
  CHECK(cores_for_rate(falls, 200) == Approx(8));
}

}  // namespace
}  // namespace penstock
