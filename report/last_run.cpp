#include "report/last_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "common/clock.h"

namespace penstock {
namespace {

// Corrects the times of a node whose clock is ahead by that much.
void set_back(double ahead_s, JobReport& part) {
  part.start_unix_s -= ahead_s;
  part.updated_unix_s -= ahead_s;
  if (part.end_unix_s) *part.end_unix_s -= ahead_s;
  for (TimelinePoint& point : part.timeline) point.begin_unix_s -= ahead_s;
  for (GrantChange& change : part.changes) change.time_unix_s -= ahead_s;
  part.add_note(fmt::format(
      "the clock of {} is {:.0f} s {} the controller's: "
      "the times of its part are corrected",
      part.node, std::abs(ahead_s), ahead_s > 0 ? "ahead of" : "behind"));
}

bool overlap(const JobReport& a, const JobReport& b) {
  return a.start_unix_s <= b.start_unix_s + b.run_s() &&
         b.start_unix_s <= a.start_unix_s + a.run_s();
}

// The nodes' clocks, set right where that is sure: a part cannot come before
// its end, so that its clock is ahead. If all are ahead, the controller's is
// behind. Returns by how much the clocks are still ahead.
std::map<std::string, double> set_fast_clocks_back(
    std::vector<JobReport>& parts, std::map<std::string, double> ahead_s) {
  double least_s = std::numeric_limits<double>::infinity();
  for (const JobReport& part : parts) {
    // A part that came another way has times that nothing can be compared with.
    if (!ahead_s.contains(part.node)) return {};
    least_s = std::min(least_s, ahead_s[part.node]);
  }
  for (auto& [node, seconds] : ahead_s) seconds -= std::max(0.0, least_s);
  for (JobReport& part : parts) {
    if (ahead_s[part.node] > kClockSkew_s) set_back(ahead_s[part.node], part);
  }
  for (auto& [node, seconds] : ahead_s) {
    if (seconds > kClockSkew_s) seconds = 0;
  }
  return ahead_s;
}

// Sets a clock right that is behind, if the part overlaps the latest one then.
// It may be the part that came late, but for a latest one that came at once.
bool set_slow_clock_right(const std::map<std::string, double>& ahead_s,
                          const JobReport& latest, JobReport& part) {
  const auto its = ahead_s.find(part.node);
  const auto latests = ahead_s.find(latest.node);
  if (its == ahead_s.end() || latests == ahead_s.end() ||
      its->second >= -kClockSkew_s || latests->second < -kClockSkew_s) {
    return false;
  }
  JobReport corrected = part;
  set_back(its->second, corrected);
  if (!overlap(corrected, latest)) return false;
  part = std::move(corrected);
  return true;
}

}  // namespace

std::vector<JobReport> parts_of_last_run(
    std::vector<JobReport> parts, std::map<std::string, double> clock_ahead_s) {
  clock_ahead_s = set_fast_clocks_back(parts, std::move(clock_ahead_s));
  std::stable_sort(parts.begin(), parts.end(),
                   [](const JobReport& a, const JobReport& b) {
                     return std::pair(a.start_unix_s, a.updated_unix_s) >
                            std::pair(b.start_unix_s, b.updated_unix_s);
                   });
  std::vector<JobReport> out;
  std::string left_out;
  for (JobReport& part : parts) {
    const bool is_known = std::any_of(
        out.begin(), out.end(),
        [&](const JobReport& other) { return other.node == part.node; });
    const bool is_other = !out.empty() && (part.job_id != out.front().job_id ||
                                           part.user_id != out.front().user_id);
    if (is_known || is_other) continue;
    if (out.empty() || overlap(part, out.front()) ||
        set_slow_clock_right(clock_ahead_s, out.front(), part)) {
      out.push_back(std::move(part));
    } else {
      left_out += (left_out.empty() ? "" : ", ") + part.node;
    }
  }
  if (!left_out.empty()) {
    out.front().add_note(
        "left out, as they ended before the others began, in an earlier run or "
        "an earlier step: the parts on " +
        left_out);
  }
  return out;
}

}  // namespace penstock
