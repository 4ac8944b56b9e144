#include "report/lent_gain.h"

#include "samples.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

JobReport used(double home, double away, double trainer) {
  JobReport out;
  out.cores.allocated = 1;
  out.cores.used_home = home;
  out.cores.used_away = away;
  out.cores.used_trainer = trainer;
  return out;
}

TimelinePoint point(double duration_s, double home, double away,
                    double trainer) {
  TimelinePoint out;
  out.duration_s = duration_s;
  out.used_home_cores = home;
  out.used_away_cores = away;
  out.used_trainer_cores = trainer;
  return out;
}

TEST_CASE("CPU time beyond a job's own CPUs is its gain") {
  CHECK(*lent_gain(used(0.9, 0.36, 0.1)) == Approx(0.36));
  CHECK(lent_gain_text(used(0.9, 0.36, 0.1)) ==
        "By CPU time, lent CPUs raised the throughput by about 36%");
}

TEST_CASE("a job that its own CPUs would have fed has gained nothing") {
  CHECK(*lent_gain(used(0.3, 0.3, 0.1)) == 0);
  CHECK(*lent_gain(used(0.9, 0, 0.1)) == 0);
  CHECK(lent_gain_text(used(0.9, 0, 0.1)).empty());
}

TEST_CASE("the gain is that of the intervals in which the job borrowed") {
  JobReport report = used(0.7, 0.3, 0.1);  // the averages' gain would be 0.1
  report.timeline = {point(100, 0.9, 0.9, 0.2), point(100, 0.5, 0, 0)};
  CHECK(*lent_gain(report) == Approx(250.0 / 150 - 1));
}

TEST_CASE("intervals with unknown figures do not count") {
  JobReport report = used(0, 0, 0);
  report.timeline = {point(100, 0.9, 0.9, 0.2), TimelinePoint{.duration_s = 9}};
  CHECK(*lent_gain(report) == Approx(1.0));
}

TEST_CASE("the gain of an unmeasured job is unknown") {
  CHECK_FALSE(lent_gain(samples::unknown()));
  CHECK(lent_gain_text(samples::unknown()).empty());
  CHECK_FALSE(lent_gain(used(0, 0, 0)));
}

}  // namespace
}  // namespace penstock
