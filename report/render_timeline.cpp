#include "report/render_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "report/resample.h"

namespace penstock {
namespace {

using Figures = std::vector<std::optional<double>>;
using Figure = std::function<std::optional<double>(const TimelinePoint&)>;

struct Row {
  const char* label;
  Figure figure;
  Page::Tone tone = Page::Tone::kPlain;
};

std::optional<double> granted_cores(const TimelinePoint& point) {
  if (!point.granted_home_cores && !point.granted_away_cores) {
    return std::nullopt;
  }
  return point.granted_home_cores.value_or(0) +
         point.granted_away_cores.value_or(0);
}

bool is_known(const Figures& figures) {
  return std::any_of(figures.begin(), figures.end(),
                     [](const auto& it) { return it.has_value(); });
}

double largest(const std::vector<Figures>& rows) {
  double most = 0;
  for (const Figures& row : rows) {
    for (const auto& it : row) most = std::max(most, it.value_or(0));
  }
  return most;
}

// Adds rows with a common scale, which the first row names. Rows without any
// known figure are left out.
void add_rows(const std::vector<TimelinePoint>& points,
              const std::vector<Row>& rows, std::optional<double> full,
              const std::function<std::string(double)>& scale_text,
              Page& page) {
  std::vector<Figures> figures;
  figures.reserve(rows.size());
  for (const Row& row : rows) {
    figures.push_back(resampled(points, page.line_cells(), row.figure));
  }
  const double scale = full.value_or(largest(figures));
  bool is_named = false;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!is_known(figures[i])) continue;
    for (auto& it : figures[i]) {
      if (it) it = scale > 0 ? *it / scale : 0;
    }
    page.line_of_figures(rows[i].label, figures[i],
                         is_named ? "" : "0 to " + scale_text(scale),
                         rows[i].tone);
    is_named = true;
  }
}

// Marks the columns in which the grant changed.
void add_changes(const JobReport& report, Page& page) {
  const double span = span_s(report.timeline);
  const double begin_unix_s = report.timeline.front().begin_unix_s;
  std::vector<bool> marks(page.line_cells());
  size_t shown = 0;
  for (const GrantChange& change : report.changes) {
    const double at_s = change.time_unix_s - begin_unix_s;
    if (at_s < 0 || at_s > span) continue;
    const auto cell = size_t(at_s / span * double(marks.size()));
    marks[std::min(cell, marks.size() - 1)] = true;
    ++shown;
  }
  if (shown > 0) page.line_of_marks("grant changed", marks);
}

Page::Tone tone_of(WallPart part) {
  if (!is_stall(part)) return Page::Tone::kGood;
  return waits_for_data(part) ? Page::Tone::kBad : Page::Tone::kWarning;
}

void add_stalls(const std::vector<TimelinePoint>& points, Page& page) {
  std::vector<Row> rows;
  for (const WallPartNames& it : kWallParts) {
    const auto share = [part = it.part](const TimelinePoint& point) {
      return point.shares[part];
    };
    rows.push_back({it.text, share, tone_of(it.part)});
  }
  add_rows(
      points, rows, 1.0, [](double) { return std::string("100%"); }, page);
}

}  // namespace

void render_timeline(const JobReport& report, Page& page) {
  const std::vector<TimelinePoint>& points = report.timeline;
  if (!(span_s(points) > 0)) return;
  const double step_s = span_s(points) / double(page.line_cells());
  page.heading(fmt::format("Course from {} on, {} a column",
                           date_text(points.front().begin_unix_s),
                           duration_text(step_s)));
  const auto plain = [](double value) { return figure_text(value); };
  add_rows(points,
           {{"cores granted", granted_cores},
            {"used, own",
             [](const TimelinePoint& it) { return it.used_home_cores; }},
            {"used, lent",
             [](const TimelinePoint& it) { return it.used_away_cores; }}},
           std::nullopt, plain, page);
  add_rows(
      points,
      {{"bandwidth limit",
        [](const TimelinePoint& it) { return it.granted_bytes_per_s; }},
       {"read", [](const TimelinePoint& it) { return it.used_bytes_per_s; }}},
      std::nullopt, [](double value) { return rate_text(value); }, page);
  add_rows(points,
           {{"predicted rate",
             [](const TimelinePoint& it) { return it.predicted_rate; }},
            {"samples/s", [](const TimelinePoint& it) { return it.rate; }}},
           std::nullopt, plain, page);
  add_stalls(points, page);
  add_changes(report, page);
}

}  // namespace penstock
