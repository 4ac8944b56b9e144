#include "report/notice.h"

#include "samples.h"
#include "tests/unit/catch.h"

namespace penstock {
namespace {

TEST_CASE("the notice has the verdict and the command") {
  CHECK(
      notice(samples::input_bound()) ==
      "penstock: Input-bound: 31% of step time waits for data (fetch 22%, prep "
      "9%); penstock report 4711");
  CHECK(has_remedy(samples::input_bound()));
  CHECK_FALSE(has_remedy(samples::wasteful()));
  CHECK(notice(samples::wasteful()).starts_with("penstock: Compute-bound: 1%"));
}

TEST_CASE("a mistake at the start is in the notice") {
  JobReport report = samples::input_bound();
  report.launch_problems = samples::unknown().launch_problems;
  CHECK(
      notice(report) ==
      "penstock: Input-bound: 31% of step time waits for data; srun took 1 of "
      "the 4 CPUs that the job...; penstock report 4711");
  // Of a job that does not tell its waits, it is all.
  report.breakdown = make_breakdown({.wall_s = 300});
  CHECK(has_remedy(report));
  CHECK(notice(report) ==
        "penstock: srun took 1 of the 4 CPUs that the job has here; penstock "
        "report 4711");
  report.launch_problems.clear();
  CHECK(notice(report).empty());
}

TEST_CASE("a notice fits its field, whatever the job") {
  for (JobReport report :
       {samples::input_bound(), samples::wasteful(), samples::exchange_bound(),
        samples::unknown(), samples::hostile()}) {
    report.recommend_after_s = 0;
    report.job_id = 4294967295u;
    const std::string line = notice(report);
    CHECK(line.size() <= kMaxNoticeBytes);
    CHECK(line.ends_with("; penstock report 4294967295"));
  }
}

TEST_CASE("short runs, and runs without figures, get no notice") {
  JobReport report = samples::input_bound();
  report.recommend_after_s = report.run_s() + 1;
  CHECK(notice(report).empty());
  report = samples::input_bound();
  report.breakdown.wall_s = 0;
  CHECK(notice(report).empty());
}

}  // namespace
}  // namespace penstock
