#include "tools/analyze/visit.h"

#include <cmath>

#include "tests/unit/catch.h"

using namespace penstock;

namespace {

AnalysisBatches batches(std::vector<uint64_t> end_ns, double cpu_s) {
  AnalysisBatches it;
  it.samples.assign(end_ns.size(), 10);
  it.wait_ns.assign(end_ns.size(), 100'000'000);
  it.end_ns = std::move(end_ns);
  it.cpu_s = cpu_s;
  it.read_bytes = cpu_s * 1000;
  it.consumed_bytes = cpu_s * 2000;
  return it;
}

}  // namespace

TEST_CASE("a visit consists of the messages after the first one") {
  VisitBuilder builder;
  CHECK_FALSE(builder.visit());
  builder.add(batches({1'000'000'000}, 5));
  CHECK_FALSE(builder.visit());
  builder.add(batches({}, 5.5));
  CHECK_FALSE(builder.visit());
  builder.add(batches({2'000'000'000, 3'000'000'000}, 7));
  const auto visit = builder.visit();
  REQUIRE(visit);
  CHECK(visit->batches == 2);
  CHECK(visit->samples == 20);
  CHECK(visit->seconds() == Approx(2));
  CHECK(visit->samples_per_s() == Approx(10));
  CHECK(visit->cpu_s == Approx(2));
  CHECK(visit->read_bytes == Approx(2000));
  CHECK(visit->consumed_bytes == Approx(4000));
  CHECK_FALSE(visit->memory_bytes_per_s);
}

TEST_CASE("decreasing sums count as zero") {
  VisitBuilder builder;
  builder.add(batches({1}, 5));
  builder.add(batches({2}, 4));
  CHECK(builder.visit()->cpu_s == 0);
}

TEST_CASE("a figure's interval is Student's t interval of its visits") {
  CHECK(figure_of({}).visits == 0);
  const VisitFigure one = figure_of({7});
  CHECK(one.median == 7);
  CHECK(std::isinf(one.relative_width()));
  CHECK(std::isinf(figure_of({7, 7}).relative_width()));
  // s = 1, t(2) = 4.303: 4.303 / sqrt(3) = 2.484
  const VisitFigure three = figure_of({9, 11, 10});
  CHECK(three.median == 10);
  CHECK(three.low == Approx(10 - 2.484).epsilon(1e-3));
  CHECK(three.high == Approx(10 + 2.484).epsilon(1e-3));
  CHECK(three.relative_width() == Approx(0.4969).epsilon(1e-3));
  CHECK(figure_of({4, 4, 4, 4}).relative_width() == 0);
  CHECK(figure_of({1, 2, 4, 8}).median == 3);
  CHECK(figure_of({1e-3, 1, 1e3}).low == 0);  // never negative
}

TEST_CASE("a drifting rate is distinguished from a scattered one") {
  CHECK_FALSE(has_drifted({100, 80, 60}));  // too few to tell
  CHECK(has_drifted({100, 99, 81, 80}));
  CHECK_FALSE(has_drifted({100, 80, 99, 79}));
  CHECK_FALSE(has_drifted({100, 99, 95, 94}));  // under a tenth
  CHECK(has_drifted({80, 81, 99, 100, 101}));
}
