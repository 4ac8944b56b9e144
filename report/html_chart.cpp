#include "report/html_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/text.h"

namespace penstock {
namespace {

using Look = Quantity::Look;

constexpr int kScaleSteps = 3;
// A phone shows every second tick.
constexpr int kTimeSteps = 8;

bool is_figure(const std::optional<double>& value) {
  return value && std::isfinite(*value);
}

// Sum of the stacked quantities up to and including the one at `last`.
std::optional<double> stacked(const std::vector<Quantity>& quantities,
                              size_t last, const TimelinePoint& point) {
  std::optional<double> sum;
  for (size_t i = 0; i <= last; ++i) {
    if (quantities[i].look != Look::kStacked) continue;
    const std::optional<double> part = quantities[i].of(point);
    if (is_figure(part)) sum = sum.value_or(0) + std::max(0.0, *part);
  }
  return sum;
}

std::optional<double> drawn_height(const std::vector<Quantity>& quantities,
                                   size_t at, const TimelinePoint& point) {
  if (quantities[at].look == Look::kLine) return quantities[at].of(point);
  // If the top quantity is unknown, the stack ends below it.
  return stacked(quantities, at, point);
}

Scale scale_of(const TimeFigure& figure, const DrawnCourse& course) {
  double largest = figure.least_top;
  for (const Level& level : figure.levels) {
    largest = std::max(largest, level.value);
  }
  for (const TimelinePoint& point : course.drawn) {
    for (size_t i = 0; i < figure.quantities.size(); ++i) {
      const auto height = drawn_height(figure.quantities, i, point);
      if (is_figure(height)) largest = std::max(largest, *height);
    }
  }
  return scale_for(largest / figure.unit, kScaleSteps);
}

void draw_quantity(Markup& page, const TimeFigure& figure,
                   const DrawnCourse& course, size_t at, double top) {
  std::vector<Step> steps;
  for (const TimelinePoint& point : course.drawn) {
    Step step{course.share_of(point.begin_unix_s),
              course.share_of(point.begin_unix_s + point.duration_s)};
    const auto value = drawn_height(figure.quantities, at, point);
    if (is_figure(value)) step.height = *value / top;
    steps.push_back(step);
  }
  const Quantity& quantity = figure.quantities[at];
  const bool filled = quantity.look == Look::kStacked;
  const std::string path = filled ? area_path(steps, figure.plot_height)
                                  : line_path(steps, figure.plot_height);
  if (path.empty()) return;
  const std::string style = quantity.style;
  page.leaf("path",
            {{"class", (filled ? "area " : "line ") + style}, {"d", path}});
}

// Areas first, the tallest stack at the back; then lines over them.
void draw_quantities(Markup& page, const TimeFigure& figure,
                     const DrawnCourse& course, double top) {
  open_plot(page, figure.plot_height);
  for (size_t i = figure.quantities.size(); i-- > 0;) {
    if (figure.quantities[i].look != Look::kStacked) continue;
    draw_quantity(page, figure, course, i, top);
  }
  for (size_t i = 0; i < figure.quantities.size(); ++i) {
    if (figure.quantities[i].look != Look::kLine) continue;
    draw_quantity(page, figure, course, i, top);
  }
  page.close();
}

void draw_marks(Markup& page, const DrawnCourse& course, double plot_height) {
  for (const Mark& mark : course.marks) {
    const std::string x = percent(mark.group.at);
    draw_upright(page, "mark", x, 0, plot_height);
    draw_text(page, "mark-number", x, -6, std::to_string(mark.number));
  }
}

std::string caption_of(const TimeFigure& figure) {
  if (figure.unit_text.empty()) return figure.title;
  return figure.title + ", " + figure.unit_text;
}

std::string told_value(const TimeFigure& figure, const Quantity& quantity,
                       const TimelinePoint& point) {
  const std::optional<double> value = quantity.of(point);
  return is_figure(value) ? figure.value_text(value) : "-";
}

std::string span_text(const DrawnCourse& course, const TimelinePoint& point) {
  const double from_s = point.begin_unix_s - course.start_unix_s;
  return offset_text(from_s) + " to " + offset_text(from_s + point.duration_s);
}

// Adds a tooltip for each point in the tables.
void draw_told(Markup& page, const TimeFigure& figure,
               const DrawnCourse& course) {
  for (const TimelinePoint& point : course.told) {
    const double from = course.share_of(point.begin_unix_s);
    const double to = course.share_of(point.begin_unix_s + point.duration_s);
    std::string text = span_text(course, point);
    for (const Quantity& quantity : figure.quantities) {
      text += fmt::format("; {} {}", quantity.label,
                          told_value(figure, quantity, point));
    }
    page.open("rect", {{"class", "told"},
                       {"x", percent(from)},
                       {"width", percent(to - from)},
                       {"height", coordinate(figure.plot_height)}});
    page.element("title", text);
    page.close();
  }
}

void draw_time_axis(Markup& page, const DrawnCourse& course,
                    double plot_height) {
  const std::vector<double> ticks_s =
      time_ticks_s(course.duration_s, kTimeSteps);
  const double step_s = ticks_s.size() > 1 ? ticks_s[1] : course.duration_s;
  for (size_t i = 0; i < ticks_s.size(); ++i) {
    const double tick_unix_s = course.start_unix_s + ticks_s[i];
    const std::string x = percent(course.share_of(tick_unix_s));
    const std::string between = i % 2 == 1 ? " between" : "";
    draw_upright(page, "tick" + between, x, plot_height, plot_height + 4);
    draw_text(page, "time" + between, x, plot_height + 17,
              tick_text(ticks_s[i]));
    draw_text(page, "time quiet" + between, x, plot_height + 32,
              clock_text(tick_unix_s, step_s));
  }
  draw_text(page, "value quiet", "-30", plot_height + 32, "UTC");
}

void told_table(Markup& page, const TimeFigure& figure,
                const DrawnCourse& course) {
  Cells heads = {"since the start"};
  for (const Quantity& quantity : figure.quantities) {
    heads.push_back(quantity.label);
  }
  std::vector<Cells> rows;
  for (const TimelinePoint& point : course.told) {
    rows.push_back({span_text(course, point)});
    for (const Quantity& quantity : figure.quantities) {
      rows.back().push_back(told_value(figure, quantity, point));
    }
  }
  folded_table(page, caption_of(figure), heads, rows);
}

bool is_known(const TimeFigure& figure, const DrawnCourse& course) {
  for (const TimelinePoint& point : course.drawn) {
    for (const Quantity& quantity : figure.quantities) {
      if (is_figure(quantity.of(point))) return true;
    }
  }
  return false;
}

std::vector<KeyEntry> key_of(const TimeFigure& figure) {
  std::vector<KeyEntry> out;
  for (const Quantity& quantity : figure.quantities) {
    out.push_back(
        {quantity.label, quantity.style, quantity.look == Look::kStacked});
  }
  for (const Level& level : figure.levels) {
    out.push_back({level.label, level.style, false});
  }
  return out;
}

}  // namespace

bool draw(Markup& page, const TimeFigure& figure, const DrawnCourse& course) {
  if (!is_known(figure, course)) return false;
  const Scale scale = scale_of(figure, course);
  const double top = scale.top * figure.unit;
  open_figure(page, caption_of(figure));
  draw_key(page, key_of(figure));
  open_svg(page, figure.id, figure.title, figure.description,
           figure.plot_height);
  draw_scale(page, scale, figure.plot_height);
  draw_quantities(page, figure, course, top);
  for (const Level& level : figure.levels) {
    draw_level(page, std::string("line ") + level.style,
               figure.plot_height * (1 - level.value / top));
  }
  if (figure.marked) draw_marks(page, course, figure.plot_height);
  draw_time_axis(page, course, figure.plot_height);
  draw_told(page, figure, course);
  page.close();
  told_table(page, figure, course);
  page.close();
  return true;
}

}  // namespace penstock
