#include "report/timeline.h"

#include <cstdint>
#include <functional>
#include <iostream>
#include <random>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

TimelinePoint point(double begin_unix_s, double duration_s) {
  TimelinePoint out;
  out.begin_unix_s = begin_unix_s;
  out.duration_s = duration_s;
  return out;
}

double covered_s(const std::vector<TimelinePoint>& points) {
  double sum = 0;
  for (const TimelinePoint& it : points) sum += it.duration_s;
  return sum;
}

template <class Figure>
double integral(const std::vector<TimelinePoint>& points, Figure figure) {
  double sum = 0;
  for (const TimelinePoint& it : points) {
    sum += it.duration_s * figure(it).value_or(0);
  }
  return sum;
}

template <class Figure>
void check_same_integral(const std::vector<TimelinePoint>& coarse,
                         const std::vector<TimelinePoint>& fine,
                         Figure figure) {
  REQUIRE(integral(coarse, figure) ==
          Approx(integral(fine, figure)).epsilon(1e-9));
}

double shares(const TimelinePoint& it) {
  return it.shares.compute.value_or(0) + it.shares.fetch_stall.value_or(0) +
         it.shares.prep_stall.value_or(0) +
         it.shares.exchange_stall.value_or(0);
}

// Periods of about a second, with gaps; rates are always known, shares
// sometimes.
std::vector<TimelinePoint> random_course(std::mt19937_64& random, int count) {
  std::uniform_real_distribution<double> jitter(0.9, 1.1);
  std::uniform_real_distribution<double> share(0, 0.25);
  std::bernoulli_distribution known(0.7), missed(0.01);
  std::vector<TimelinePoint> out;
  double now_s = 1e9;
  for (int i = 0; i < count; ++i) {
    TimelinePoint it = point(now_s, jitter(random));
    it.rate = 100 * jitter(random);
    for (auto* part : {&it.shares.compute, &it.shares.fetch_stall,
                       &it.shares.prep_stall, &it.shares.exchange_stall}) {
      if (known(random)) *part = share(random);
    }
    out.push_back(it);
    now_s += it.duration_s + (missed(random) ? 30 * jitter(random) : 0);
  }
  return out;
}

void check_same_course(const std::vector<TimelinePoint>& coarse,
                       const std::vector<TimelinePoint>& fine) {
  REQUIRE(covered_s(coarse) == Approx(covered_s(fine)).epsilon(1e-9));
  REQUIRE(coarse.front().begin_unix_s == fine.front().begin_unix_s);
  check_same_integral(coarse, fine, std::mem_fn(&TimelinePoint::rate));
  for (const WallPartNames& names : kWallParts) {
    check_same_integral(coarse, fine, [&](const TimelinePoint& it) {
      return it.shares[names.part];
    });
  }
  for (size_t i = 0; i < coarse.size(); ++i) {
    REQUIRE(shares(coarse[i]) <= 1 + 1e-9);
    if (i == 0) continue;
    const double end_s = coarse[i - 1].begin_unix_s + coarse[i - 1].duration_s;
    REQUIRE(coarse[i].begin_unix_s >= end_s - 1e-5);
  }
}

TEST_CASE(
    "merging weights each figure by the durations of points that have it") {
  TimelinePoint a = point(100, 1), b = point(101, 3);
  a.rate = 10;
  b.rate = 50;
  b.granted_bytes_per_s = 7;
  a.shares.compute = 0.8;
  b.shares.fetch_stall = 0.4;
  const TimelinePoint both = merged(a, b);
  CHECK(both.begin_unix_s == 100);
  CHECK(both.duration_s == 4);
  CHECK(*both.rate == Approx(40));
  CHECK(*both.granted_bytes_per_s == 7);
  CHECK_FALSE(both.used_home_cores);
  CHECK(*both.shares.compute == Approx(0.2));
  CHECK(*both.shares.fetch_stall == Approx(0.3));
  CHECK_FALSE(both.shares.prep_stall);
}

TEST_CASE("a gap between two points comes after their merged point") {
  const TimelinePoint both = merged(point(100, 1), point(150, 1));
  CHECK(both.begin_unix_s == 100);
  CHECK(both.duration_s == 2);
}

TEST_CASE("points without duration merge to their average") {
  TimelinePoint a = point(100, 0), b = point(100, 0);
  a.rate = 10;
  b.rate = 20;
  CHECK(*merged(a, b).rate == 15);
}

TEST_CASE("a timeline within the bound is unchanged") {
  const std::vector<TimelinePoint> course = {point(1, 1), point(2, 1)};
  CHECK(coarsened(course, 2) == course);
  CHECK(coarsened({}, 1).empty());
  CHECK(coarsened(course, 1).size() == 1);
}

TEST_CASE("a coarser timeline keeps time and integrals") {
  const uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 50; ++i) {
    const auto fine = random_course(random, 1 + int(random() % 3000));
    const size_t most = 1 + random() % 400;
    const auto coarse = coarsened(fine, most);
    REQUIRE(coarse.size() <= most);
    check_same_course(coarse, fine);
  }
}

TEST_CASE("a timeline of any length keeps its bound, time and integrals") {
  const uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const auto fine = random_course(random, 50'000);
  Timeline timeline;
  for (const TimelinePoint& it : fine) {
    timeline.add(it);
    REQUIRE(timeline.points().size() <= kMaxTimelinePoints);
  }
  check_same_course(timeline.points(), fine);
  // No coarser than the bound requires.
  CHECK(timeline.points().size() > kMaxTimelinePoints / 3);
}

TEST_CASE("points of a coarse timeline are equally long") {
  Timeline timeline;
  for (size_t i = 0; i < 2 * kMaxTimelinePoints; ++i) {
    timeline.add(point(double(i), 1));
  }
  CHECK(timeline.points().size() == kMaxTimelinePoints);
  for (const TimelinePoint& it : timeline.points()) CHECK(it.duration_s == 2);
}

TEST_CASE("a coarse timeline keeps a gap and the point after it separate") {
  Timeline timeline;
  for (size_t i = 0; i <= kMaxTimelinePoints; ++i) {
    timeline.add(point(double(i), 1));
  }
  const size_t before = timeline.points().size();
  const double later_s = double(kMaxTimelinePoints) + 100;
  timeline.add(point(later_s, 1));
  REQUIRE(timeline.points().size() == before + 1);
  CHECK(timeline.points().back().begin_unix_s == later_s);
}

TEST_CASE("a point without duration is omitted") {
  Timeline timeline;
  timeline.add(point(1, 0));
  CHECK(timeline.points().empty());
}

}  // namespace
}  // namespace penstock
