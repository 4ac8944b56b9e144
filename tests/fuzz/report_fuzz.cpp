// Reports and node states as JSON: whatever is accepted is within its bounds,
// adds up, and can be shown.
#include <cmath>

#include "report/json.h"
#include "tests/fuzz/fuzz.h"

using namespace penstock;

namespace {

void check(const JobReport& report) {
  FUZZ_CHECK(report.job_name.size() <= kMaxReportTextBytes);
  FUZZ_CHECK(report.changes.size() <= kMaxGrantChanges);
  FUZZ_CHECK(report.notes.size() <= kMaxReportNotes);
  FUZZ_CHECK(std::isfinite(report.run_s()) && report.run_s() >= 0);
  for (const GrantChange& change : report.changes) {
    FUZZ_CHECK(*cause_text(change.cause) != '\0');
  }
  FUZZ_CHECK(report.timeline.size() <= kMaxParsedTimelinePoints);
  for (const TimelinePoint& point : report.timeline) {
    const double shares = point.shares.compute.value_or(0) +
                          point.shares.fetch_stall.value_or(0) +
                          point.shares.prep_stall.value_or(0) +
                          point.shares.exchange_stall.value_or(0);
    FUZZ_CHECK(shares >= 0 && shares <= 1.01);
    FUZZ_CHECK(point.begin_unix_s >= report.timeline.front().begin_unix_s);
  }
  if (report.what_if) {
    const std::vector<RateAtCores>& points = report.what_if->points;
    FUZZ_CHECK(points.size() <= kMaxWhatIfPoints);
    FUZZ_CHECK(report.what_if->notes.size() <= kMaxWhatIfNotes);
    for (size_t i = 1; i < points.size(); ++i) {
      FUZZ_CHECK(points[i].cores > points[i - 1].cores);
    }
  }
  for (int units : {100, 1000}) {
    int sum = 0;
    for (int share : rounded_shares(report.breakdown, units)) {
      FUZZ_CHECK(share >= 0);
      sum += share;
    }
    FUZZ_CHECK(sum == (report.breakdown.wall_s > 0 ? units : 0));
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = as_text(data, size);
  if (const auto report = parse_report(text)) check(*report);
  if (const auto status = parse_node_status(text)) {
    FUZZ_CHECK(status->jobs.size() <= kMaxStatusJobs);
    for (const JobReport& report : status->jobs) check(report);
  }
  return 0;
}
