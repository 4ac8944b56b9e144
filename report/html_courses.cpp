// The HTML report's charts over time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "report/html_chart.h"
#include "report/html_report.h"
#include "report/text.h"

namespace penstock {
namespace {

using Look = Quantity::Look;

// Marks closer than this would overlap on a phone.
constexpr double kMarksApart = 0.07;
constexpr double kBreakdownHeight = 150;

Quantity stacked(std::string label, const char* style,
                 std::optional<double> TimelinePoint::*of) {
  return {std::move(label), style, Look::kStacked,
          [of](const TimelinePoint& point) { return point.*of; }};
}

Quantity line(std::string label, const char* style,
              std::optional<double> TimelinePoint::*of) {
  return {std::move(label), style, Look::kLine,
          [of](const TimelinePoint& point) { return point.*of; }};
}

template <class Figure>
bool ever_known(const DrawnCourse& course, Figure of) {
  return std::any_of(
      course.drawn.begin(), course.drawn.end(),
      [of](const auto& point) { return bool(std::invoke(of, point)); });
}

bool ever_positive(const DrawnCourse& course,
                   std::optional<double> TimelinePoint::*of) {
  return std::any_of(
      course.drawn.begin(), course.drawn.end(),
      [of](const auto& point) { return (point.*of).value_or(0) > 0; });
}

// The unattributed share, if any of the other shares is known; else nullopt.
std::optional<double> unattributed(const TimelinePoint& point) {
  double known = 0;
  bool any = false;
  for (const WallPartNames& it : kWallParts) {
    const std::optional<double>& part = point.shares[it.part];
    any = any || part;
    known += part.value_or(0);
  }
  if (!any) return std::nullopt;
  return std::max(0.0, 1 - known);
}

void add_level(TimeFigure& figure, const char* label, const char* style,
               const std::optional<double>& value,
               std::string (*value_text)(const std::optional<double>&)) {
  if (!value || !std::isfinite(*value)) return;
  figure.levels.push_back(
      {fmt::format("{} {}", label, value_text(value)), style, *value});
}

void say_unknown(Markup& page, const char* what) {
  page.element("p", fmt::format("{} over time: not recorded.", what));
}

struct Unit {
  double bytes_per_s;
  const char* text;
};

// The unit in which the largest bandwidth is easy to read.
Unit bandwidth_unit(const DrawnCourse& course,
                    const BandwidthFigures& figures) {
  double largest = figures.entitled_bytes_per_s.value_or(0);
  for (const TimelinePoint& point : course.drawn) {
    largest = std::max({largest, point.granted_bytes_per_s.value_or(0),
                        point.used_bytes_per_s.value_or(0)});
  }
  // Same names as format_rate().
  constexpr const char* kNames[] = {"B/s", "KB/s", "MB/s", "GB/s", "TB/s"};
  Unit out{1, kNames[0]};
  for (int i = 1; i < 5 && largest >= 1024 * out.bytes_per_s; ++i) {
    out = {1024 * out.bytes_per_s, kNames[i]};
  }
  return out;
}

void mark_changes(DrawnCourse& course,
                  const std::vector<GrantChange>& changes) {
  std::vector<double> shares;
  shares.reserve(changes.size());
  for (const GrantChange& change : changes) {
    shares.push_back(course.share_of(change.time_unix_s));
  }
  for (const Group& group : grouped(shares, kMarksApart)) {
    course.marks.push_back({group, static_cast<int>(course.marks.size()) + 1});
  }
}

void draw_away(Markup& page, const JobReport& report,
               const DrawnCourse& course) {
  if (!ever_positive(course, &TimelinePoint::granted_away_cores) &&
      !ever_positive(course, &TimelinePoint::used_away_cores)) {
    const bool known = ever_known(course, &TimelinePoint::used_away_cores) ||
                       report.cores.used_away == 0.0;
    page.element("p", known ? "The job borrowed no CPU of others."
                            : "Cores on lent CPUs over time: not recorded.");
    return;
  }
  TimeFigure away;
  away.id = "away";
  away.title = "Cores borrowed: on lent CPUs";
  away.description =
      "Cores granted on lent CPUs over time, and what the loader used of them.";
  away.quantities = {
      stacked("used by the loader", "away", &TimelinePoint::used_away_cores),
      line("granted", "granted", &TimelinePoint::granted_away_cores)};
  away.plot_height = 100;
  away.value_text = figure_text;
  draw(page, away, course);
}

}  // namespace

double DrawnCourse::share_of(double unix_s) const {
  if (!(duration_s > 0)) return 0;
  return std::clamp((unix_s - start_unix_s) / duration_s, 0.0, 1.0);
}

DrawnCourse course_of(const JobReport& report, size_t coarser) {
  DrawnCourse out;
  out.start_unix_s = report.start_unix_s;
  double end_unix_s = report.start_unix_s + report.run_s();
  if (!report.timeline.empty()) {
    const TimelinePoint& last = report.timeline.back();
    out.start_unix_s =
        std::min(out.start_unix_s, report.timeline.front().begin_unix_s);
    end_unix_s = std::max(end_unix_s, last.begin_unix_s + last.duration_s);
  }
  out.duration_s = end_unix_s - out.start_unix_s;
  out.drawn = coarsened(report.timeline, kDrawnPoints / coarser);
  out.told = coarsened(report.timeline, kToldPoints / coarser);
  mark_changes(out, report.changes);
  return out;
}

void breakdown_course(Markup& page, const DrawnCourse& course) {
  TimeFigure figure;
  figure.id = "stalls";
  figure.title = "Where the time went, over time";
  figure.unit_text = "% of the time";
  std::string parts;
  for (const WallPartNames& it : kWallParts) {
    parts += fmt::format("{}{}", parts.empty() ? "" : ", ", it.text);
    const auto share = [part = it.part](const TimelinePoint& point) {
      return point.shares[part];
    };
    // A job without an exchange of gradients is not told of one.
    if (it.part == WallPart::kExchangeStall && !ever_known(course, share)) {
      continue;
    }
    figure.quantities.push_back({it.text, it.cause, Look::kStacked, share});
  }
  figure.description = fmt::format(
      "Shares of the time that are {} and unattributed, one on top of the "
      "other; together 100%.",
      parts);
  figure.quantities.push_back(
      {"unattributed", "unattributed", Look::kStacked, unattributed});
  figure.plot_height = kBreakdownHeight;
  figure.unit = 0.01;
  figure.least_top = 1;
  figure.value_text = share_text;
  figure.marked = false;
  if (!draw(page, figure, course)) say_unknown(page, "Stalls");
}

void cores_course(Markup& page, const JobReport& report,
                  const DrawnCourse& course) {
  TimeFigure home;
  home.id = "home";
  home.title = "Cores of its own: on the job's CPUs";
  home.description =
      "Cores granted to the loader at home over time, what the loader used of "
      "them and, on top, what the trainer used. Numbers mark grant changes, "
      "which a table below explains.";
  home.quantities = {
      stacked("used by the loader", "home", &TimelinePoint::used_home_cores),
      stacked("used by the trainer", "trainer",
              &TimelinePoint::used_trainer_cores),
      line("granted to the loader", "granted",
           &TimelinePoint::granted_home_cores)};
  add_level(home, "allocated by Slurm:", "level", report.cores.allocated,
            figure_text);
  home.value_text = figure_text;
  if (!draw(page, home, course)) return say_unknown(page, "Cores");
  draw_away(page, report, course);
}

void bandwidth_course(Markup& page, const JobReport& report,
                      const DrawnCourse& course) {
  const Unit unit = bandwidth_unit(course, report.bandwidth);
  TimeFigure figure;
  figure.id = "bandwidth";
  figure.title = "Storage bandwidth";
  figure.unit_text = unit.text;
  figure.description =
      "Bandwidth granted over time, interrupted where there was no limit, and "
      "bandwidth used. Numbers mark grant changes.";
  figure.quantities = {
      stacked("used", "home", &TimelinePoint::used_bytes_per_s),
      line("granted (none drawn: no limit)", "granted",
           &TimelinePoint::granted_bytes_per_s)};
  figure.unit = unit.bytes_per_s;
  figure.plot_height = 110;
  figure.value_text = rate_text;
  add_level(figure, "entitled, by Penstock's rule:", "level",
            report.bandwidth.entitled_bytes_per_s, rate_text);
  if (!draw(page, figure, course)) say_unknown(page, "Bandwidth");
}

void rates_course(Markup& page, const JobReport& report,
                  const DrawnCourse& course) {
  TimeFigure figure;
  figure.id = "rate";
  figure.title = "Throughput, predicted and measured";
  figure.unit_text = "samples/s";
  figure.description =
      "Throughput that the job reported over time, and what was predicted for "
      "the grant that held. Numbers mark grant changes.";
  figure.quantities = {line("measured", "measured", &TimelinePoint::rate),
                       line("predicted for the grant", "predicted",
                            &TimelinePoint::predicted_rate)};
  figure.value_text = figure_text;
  if (report.ceiling.measured) {
    add_level(figure, "ceiling:", "level", report.ceiling.measured->value,
              figure_text);
  }
  add_level(figure, "floor:", "level low", report.floor_rate, figure_text);
  if (!draw(page, figure, course)) say_unknown(page, "Throughput");
}

}  // namespace penstock
