#include "predictor/corner.h"

#include <cmath>
#include <limits>

#include "tests/unit/catch.h"
#include "tests/unit/predictor/random_profile.h"

namespace penstock {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_CASE("a corner is below both limits, and sharp at an infinite exponent") {
  CHECK(corner(3, 5, 1) == Approx(15.0 / 8));
  CHECK(corner(3, 4, 2) == Approx(12.0 / 5));
  CHECK(corner(5, 3, kInfinity) == 3);
  CHECK(corner(5, 5, 4) == Approx(5 * std::pow(2, -0.25)));
  CHECK(corner(5, kInfinity, 4) == 5);
  CHECK(corner(kInfinity, kInfinity, 4) == kInfinity);
  CHECK(corner(5, 0, 4) == 0);
  CHECK(corner(0, 0, 1) == 0);
}

TEST_CASE("a corner stays within its bounds for rates of any size") {
  for (double a : {1e-300, 1e-9, 1.0, 1e9, 1e300})
    for (double b : {1e-300, 1e-9, 1.0, 1e9, 1e300})
      for (double exponent : {1.0, 8.0, 64.0, kInfinity}) {
        const double rate = corner(a, b, exponent);
        CAPTURE(a, b, exponent);
        CHECK(rate > 0);
        CHECK(rate <= std::min(a, b));
        CHECK(rate >=
              std::min(a, b) * std::pow(0.5, 1 / exponent) * (1 - 1e-12));
      }
}

TEST_CASE("beyond_corner undoes corner") {
  Random random("beyond_corner undoes corner");
  for (int i = 0; i < 1000; ++i) {
    const double a = random.scaled(1e-6, 1e6);
    const double p = random.real(1, 64);
    const double rate = a * random.real(0.01, 0.99);
    const double b = beyond_corner(a, rate, p);
    CAPTURE(a, rate, p);
    REQUIRE(corner(a, b, p) == Approx(rate).epsilon(1e-9));
    REQUIRE(b >= rate);
  }
  CHECK(beyond_corner(5, 6, 4) == kInfinity);
  CHECK(beyond_corner(5, 5, 4) == kInfinity);  // only ever approached
  CHECK(beyond_corner(5, 5, kInfinity) == 5);
  CHECK(beyond_corner(5, 6, kInfinity) == kInfinity);
  CHECK(beyond_corner(kInfinity, 6, 4) == 6);
}

TEST_CASE("the fit recovers the exponent, also from noisy rates") {
  Random random("the fit recovers the exponent");
  for (double exponent : {1.0, 2.5, 6.0, 20.0}) {
    std::vector<CornerPoint> exact, noisy;
    for (double b : {50.0, 80.0, 95.0, 105.0, 130.0, 200.0}) {
      const double rate = corner(100, b, exponent);
      exact.push_back({100, b, rate});
      noisy.push_back({100, b, rate * random.real(0.99, 1.01)});
    }
    CAPTURE(exponent);
    CHECK(*fit_corner(exact) == Approx(exponent).epsilon(1e-3));
    // With noise the rates are compared, not the exponents.
    const double fitted = *fit_corner(noisy);
    CHECK(corner(100, 100, fitted) ==
          Approx(corner(100, 100, exponent)).epsilon(0.03));
  }
}

TEST_CASE("rates above every corner give the sharpest one") {
  CHECK(*fit_corner({{100, 100, 130}, {100, 120, 110}}) == Approx(64));
  CHECK(*fit_corner({{100, 100, 20}}) == Approx(1));
}

TEST_CASE("points that do not determine the exponent are refused") {
  using Catch::Matchers::ContainsSubstring;
  const auto none = fit_corner({});
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Code::kInvalidArgument);
  CHECK_THAT(none.error().message, ContainsSubstring("within a factor of 4"));
  CHECK_FALSE(fit_corner({{1, 5, 1}}));
  for (double bad : {0.0, -1.0, kInfinity, std::nan("")}) {
    CAPTURE(bad);
    const auto refused = fit_corner({{1, 1, 1}, {1, bad, 1}});
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().message, ContainsSubstring("point 2"));
  }
}

}  // namespace
}  // namespace penstock
