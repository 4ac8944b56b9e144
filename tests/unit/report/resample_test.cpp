#include "report/resample.h"

#include <cstdint>
#include <numeric>
#include <random>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

using Figures = std::vector<std::optional<double>>;

TimelinePoint point(double begin_unix_s, double duration_s,
                    std::optional<double> rate) {
  TimelinePoint out{begin_unix_s, duration_s};
  out.rate = rate;
  return out;
}

std::optional<double> rate_of(const TimelinePoint& it) { return it.rate; }

TEST_CASE("points are averaged by their overlap with a step") {
  const std::vector<TimelinePoint> points = {point(100, 1, 10),
                                             point(101, 3, 30)};
  CHECK(span_s(points) == 4);
  CHECK(resampled(points, 4, rate_of) == Figures{10, 30, 30, 30});
  CHECK(resampled(points, 2, rate_of) == Figures{20, 30});
  CHECK(resampled(points, 1, rate_of) == Figures{25});
  CHECK(resampled(points, 8, rate_of).size() == 8);
}

TEST_CASE("gaps and unknown figures are unknown steps") {
  const std::vector<TimelinePoint> points = {
      point(0, 1, 10), point(3, 1, std::nullopt), point(4, 1, 50)};
  const Figures expected = {10, std::nullopt, std::nullopt, std::nullopt, 50};
  CHECK(resampled(points, 5, rate_of) == expected);
  CHECK(*resampled(points, 1, rate_of)[0] == Approx(30));
}

TEST_CASE("a timeline without duration has no steps") {
  CHECK(resampled({}, 5, rate_of).empty());
  CHECK(resampled({point(7, 0, 1)}, 5, rate_of).empty());
  CHECK(resampled({point(7, 1, 1)}, 0, rate_of).empty());
}

TEST_CASE("overlapping points of a file stay within the steps") {
  const std::vector<TimelinePoint> points = {point(0, 1e18, 10),
                                             point(1, 1, 20)};
  CHECK(span_s(points) == 2);
  CHECK(resampled(points, 2, rate_of) == Figures{10, 15});
}

TEST_CASE("the average over all steps equals the points' average") {
  const uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> any(0.1, 10);
  for (int i = 0; i < 200; ++i) {
    std::vector<TimelinePoint> points;
    double now_s = 1e9, integral = 0;
    for (int k = 0; k < 1 + int(random() % 300); ++k) {
      points.push_back(point(now_s, any(random), any(random)));
      now_s += points.back().duration_s;
      integral += points.back().duration_s * *points.back().rate;
    }
    const Figures steps = resampled(points, 1 + random() % 100, rate_of);
    double sum = 0;
    for (const auto& it : steps) {
      REQUIRE(it);
      sum += *it;
    }
    REQUIRE(sum / double(steps.size()) ==
            Approx(integral / span_s(points)).epsilon(1e-5));
  }
}

}  // namespace
}  // namespace penstock
