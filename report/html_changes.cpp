// The table that explains each grant change, or each group of changes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "report/html_parts.h"
#include "report/html_report.h"
#include "report/text.h"

namespace penstock {
namespace {

using Changes = std::span<const GrantChange>;

std::string step_text(const std::string& from, const std::string& to) {
  return from == to ? from : from + " → " + to;
}

// From the value before the first change to the value after the last.
std::string cores_step(Changes changes) {
  return step_text(figure_text(changes.front().cores_from),
                   figure_text(changes.back().cores_to));
}

std::string away_step(Changes changes) {
  return step_text(figure_text(changes.front().away_from),
                   figure_text(changes.back().away_to));
}

std::string bandwidth_step(Changes changes) {
  return step_text(limit_text(changes.front().bytes_per_s_from),
                   limit_text(changes.back().bytes_per_s_to));
}

std::string rate_step(Changes changes) {
  const auto& before = changes.front().rate_before;
  const auto& after = changes.back().rate_after;
  if (!before && !after) return "-";
  std::string text = figure_text(before) + " → " + figure_text(after);
  if (!before || !after || !(*before > 0)) return text;
  return text + fmt::format(" ({:+.0f}%)", (*after / *before - 1) * 100);
}

// "14 changes: a task started (12), ...": the three most frequent causes first.
std::string causes_text(Changes changes) {
  std::array<std::pair<int, int>, kGrantCauseCount> counts{};
  for (int i = 0; i < kGrantCauseCount; ++i) counts[i] = {0, i};
  for (const GrantChange& change : changes) {
    ++counts[static_cast<int>(change.cause)].first;
  }
  std::stable_sort(
      counts.begin(), counts.end(),
      [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out = fmt::format("{} changes: ", changes.size());
  int told = 0;
  for (const auto& [count, cause] : counts) {
    if (count == 0) break;
    if (++told > 3) return out + ", others";
    out += fmt::format("{}{} ({})", told == 1 ? "" : ", ",
                       cause_text(static_cast<GrantCause>(cause)), count);
  }
  return out;
}

std::string since_start(const JobReport& report, const GrantChange& change) {
  return offset_text(change.time_unix_s - report.start_unix_s);
}

// The date is shown only if it differs from the start's.
std::string time_text(const JobReport& report, double unix_s) {
  const std::string date = clock_text(unix_s, 86400);
  const std::string time = clock_text(unix_s, 1);
  return date == clock_text(report.start_unix_s, 86400) ? time
                                                        : date + " " + time;
}

// One change, or several in one row.
Cells cells_of(const JobReport& report, const std::string& number,
               Changes changes) {
  const bool one = changes.size() == 1;
  std::string since = since_start(report, changes.front());
  if (!one) since += " to " + since_start(report, changes.back());
  return {number,
          since,
          time_text(report, changes.front().time_unix_s),
          one ? cause_text(changes.front().cause) : causes_text(changes),
          cores_step(changes),
          away_step(changes),
          bandwidth_step(changes),
          rate_step(changes)};
}

void intro(Markup& page, const JobReport& report, bool together) {
  std::string text = fmt::format(
      "The numbers are those on the charts; changes close to one another share "
      "one. Whose jobs caused them is not told.");
  if (together) {
    text += fmt::format(
        " There are {} changes, too many to list: each row stands for all that "
        "share its number, from the state before the first to the state after "
        "the last. penstock report --json has them one by one.",
        report.changes.size());
  }
  if (report.changes_dropped > 0) {
    text += fmt::format(" {} earlier changes were not kept.",
                        report.changes_dropped);
  }
  page.element("p", text);
}

}  // namespace

void changes_table(Markup& page, const JobReport& report,
                   const DrawnCourse& course) {
  const bool together = report.changes.size() > kToldChanges;
  intro(page, report, together);
  std::vector<Cells> rows;
  const Changes all(report.changes);
  for (const Mark& mark : course.marks) {
    const Changes group = all.subspan(mark.group.first, mark.group.count);
    const std::string number = std::to_string(mark.number);
    if (together) {
      rows.push_back(cells_of(report, number, group));
      continue;
    }
    for (size_t i = 0; i < group.size(); ++i) {
      rows.push_back(cells_of(report, number, group.subspan(i, 1)));
    }
  }
  draw_table(page, "Grant changes",
             {"no.", "since the start", "UTC", "why", "cores granted",
              "of them lent", "bandwidth granted", "effect on samples/s"},
             rows, 4);
}

}  // namespace penstock
