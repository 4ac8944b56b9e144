#include "report/chart.h"

#include <cmath>
#include <limits>

#include "tests/unit/catch.h"

namespace penstock {
namespace {

using Numbers = std::vector<double>;

TEST_CASE("a scale covers its figures, with ticks at multiples of 1, 2 or 5") {
  CHECK(scale_for(100, 4).ticks == Numbers{0, 50, 100});
  CHECK(scale_for(1, 2).ticks == Numbers{0, 0.5, 1});
  CHECK(scale_for(846, 4).top == 1000);
  CHECK(scale_for(1.0000000001, 2).top == 1);  // a rounding error
  for (int i = -24; i < 72; ++i) {
    const double largest = std::pow(1.77, i);
    for (int about : {1, 3, 5}) {
      const Scale scale = scale_for(largest, about);
      INFO(largest << ' ' << about);
      CHECK(scale.top >= largest * (1 - 1e-5));
      CHECK(scale.top <= largest * 5.01);
      CHECK(scale.ticks.size() <= size_t(2 * about) + 1);
      CHECK(scale.ticks.size() >= 2);
      CHECK(scale.ticks.back() == scale.top);
    }
  }
}

TEST_CASE("a scale of zero, negative, NaN or infinite figures is 0 to 1") {
  for (double largest :
       {0.0, -3.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    CHECK(scale_for(largest, 4).ticks == Numbers{0, 1});
  }
}

TEST_CASE("ticks of time are at round seconds, minutes, hours or days") {
  CHECK(time_ticks_s(312, 4) == Numbers{0, 120, 240});
  CHECK(time_ticks_s(7200, 4) == Numbers{0, 1800, 3600, 5400, 7200});
  CHECK(time_ticks_s(3, 4) == Numbers{0, 1, 2, 3});
  CHECK(time_ticks_s(10 * 86400, 4) == Numbers{0, 5 * 86400.0, 10 * 86400.0});
  CHECK(time_ticks_s(0, 4) == Numbers{0});
  CHECK(time_ticks_s(std::nan(""), 4) == Numbers{0});
  for (int i = -4; i < 40; ++i) {
    const double duration_s = std::pow(1.7, i);
    const Numbers ticks_s = time_ticks_s(duration_s, 8);
    INFO(duration_s);
    CHECK(ticks_s.size() <= 9);
    CHECK(ticks_s.back() <= duration_s);
    if (duration_s >= 2) CHECK(ticks_s.size() >= 3);
  }
}

TEST_CASE("ticks of time omit units of zero") {
  CHECK(tick_text(0) == "0");
  CHECK(tick_text(45) == "45 s");
  CHECK(tick_text(90) == "1 min 30 s");
  CHECK(tick_text(600) == "10 min");
  CHECK(tick_text(5400) == "1 h 30 min");
  CHECK(tick_text(7200) == "2 h");
  CHECK(tick_text(86400 * 2) == "2 d");
  CHECK(tick_text(86400 * 2.25) == "2 d 6 h");
}

TEST_CASE("lines go in steps and break at unknown figures") {
  const std::vector<Step> steps = {{0, 0.2, 1},
                                   {0.2, 0.4, 1},
                                   {0.4, 0.5, 0.5},
                                   {0.5, 0.7, std::nullopt},
                                   {0.7, 1, 0}};
  CHECK(line_path(steps, 100) == "M0 0H400V50H500M700 100H1000");
  CHECK(area_path(steps, 100) ==
        "M0 100V0H400V50H500V100ZM700 100V100H1000V100Z");
}

TEST_CASE("a gap in time breaks a line too") {
  CHECK(line_path({{0, 0.2, 0}, {0.5, 0.6, 0}}, 10) == "M0 10H200M500 10H600");
}

TEST_CASE("heights beyond the chart are clamped, and NaN is omitted") {
  CHECK(line_path({{0, 0.5, 7}, {0.5, 1, -7}}, 10) == "M0 0H500V10H1000");
  CHECK(line_path({{0, 1, std::nan("")}}, 10).empty());
  CHECK(line_path({}, 10).empty());
}

TEST_CASE("coordinates and percentages are rounded to few digits") {
  CHECK(coordinate(12) == "12");
  CHECK(coordinate(12.34) == "12.3");
  CHECK(coordinate(-0.001) == "0");
  CHECK(percent(0.5) == "50%");
  CHECK(percent(1) == "100%");
  CHECK(percent(0) == "0%");
  CHECK(percent(0.12345) == "12.35%");
}

TEST_CASE("close values form one group, and each value is in a group") {
  const auto groups = grouped({0, 0.01, 0.06, 0.2, 0.2}, 0.05);
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].count == 2);
  CHECK(groups[1].first == 2);
  CHECK(groups[1].at == 0.06);
  CHECK(groups[2].first == 3);
  CHECK(groups[2].count == 2);
  CHECK(grouped({}, 0.05).empty());
}

}  // namespace
}  // namespace penstock
