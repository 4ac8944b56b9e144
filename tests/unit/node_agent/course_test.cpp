#include "node_agent/plan/course.h"

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

TimelinePoint period(int i) { return {1000.0 + i, 1}; }

}  // namespace

TEST_CASE(
    "a batch gives its rate and shares to all periods since the previous one") {
  Course course;
  course.add_waiting(period(0));
  course.add_waiting(period(1));
  CHECK(course.points().size() == 2);
  CHECK_FALSE(course.points().back().rate);
  course.tell(50, make_breakdown(
                      {.wall_s = 4,
                       .parts = {.compute = {{1.0}}, .prep_stall = {{2.0}}}}));
  course.add_waiting(period(2));
  const std::vector<TimelinePoint> points = course.points();
  REQUIRE(points.size() == 3);
  for (int i : {0, 1}) {
    CHECK(points[size_t(i)].begin_unix_s == 1000 + i);
    CHECK(*points[size_t(i)].rate == 50);
    CHECK(*points[size_t(i)].shares.compute == 0.25);
    CHECK(*points[size_t(i)].shares.prep_stall == 0.5);
    CHECK_FALSE(points[size_t(i)].shares.fetch_stall);
  }
  CHECK_FALSE(points[2].rate);
}

TEST_CASE(
    "abandoned periods, and those beyond the waiting limit, stay unknown") {
  Course course;
  course.add_waiting(period(0));
  course.give_up();
  int i = 1;
  for (; i <= int(Course::kMostWaiting) + 1; ++i) {
    course.add_waiting(period(i));
  }
  course.tell(7, {});
  const std::vector<TimelinePoint> points = course.points();
  REQUIRE(points.size() == size_t(i));
  CHECK_FALSE(points[0].rate);
  CHECK_FALSE(points[1].rate);
  CHECK(*points[2].rate == 7);
  CHECK_FALSE(points[2].shares.compute);  // parts of zero time
  CHECK(*points.back().rate == 7);
}

TEST_CASE("a known period does not overtake waiting ones") {
  Course course;
  course.add_waiting(period(0));
  course.add(period(1));
  course.tell(7, {});
  const std::vector<TimelinePoint> points = course.points();
  REQUIRE(points.size() == 2);
  CHECK(points[0].begin_unix_s == 1000);
  CHECK_FALSE(points[0].rate);
  CHECK_FALSE(points[1].rate);
}
