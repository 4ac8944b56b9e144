// Parts shared by all figures of the HTML report.
#include <fmt/format.h>

#include "report/html_chart.h"

namespace penstock {
namespace {

// Room above and below a plot for its axes, as in the style sheet's .chart.
constexpr double kAboveBelow = 62;

}  // namespace

void open_figure(Markup& page, const std::string& title) {
  page.open("figure");
  page.element("figcaption", title);
}

void open_svg(Markup& page, const std::string& id, const std::string& title,
              const std::string& description, double plot_height) {
  page.open("svg", {{"class", "chart"},
                    {"role", "img"},
                    {"aria-labelledby", id + "-title " + id + "-text"},
                    {"height", coordinate(plot_height + kAboveBelow)}});
  page.element("title", {{"id", id + "-title"}}, title);
  page.element("desc", {{"id", id + "-text"}}, description);
}

void draw_scale(Markup& page, const Scale& scale, double plot_height) {
  for (double tick : scale.ticks) {
    const double y = plot_height * (1 - tick / scale.top);
    draw_level(page, "grid", y);
    draw_text(page, "value", "-7", y + 4, fmt::format("{:.6g}", tick));
  }
}

void open_plot(Markup& page, double plot_height) {
  const std::string height = coordinate(plot_height);
  page.open("svg", {{"class", "plot"},
                    {"width", "100%"},
                    {"height", height},
                    {"viewBox", "0 0 " + coordinate(kPlotWidth) + " " + height},
                    {"preserveAspectRatio", "none"}});
}

void draw_level(Markup& page, const std::string& style, double y) {
  page.leaf("line", {{"class", style},
                     {"x1", "0"},
                     {"x2", "100%"},
                     {"y1", coordinate(y)},
                     {"y2", coordinate(y)}});
}

void draw_upright(Markup& page, const std::string& style, const std::string& x,
                  double from_y, double to_y) {
  page.leaf("line", {{"class", style},
                     {"x1", x},
                     {"x2", x},
                     {"y1", coordinate(from_y)},
                     {"y2", coordinate(to_y)}});
}

void draw_text(Markup& page, const std::string& style, const std::string& x,
               double y, const std::string& text) {
  page.element("text", {{"class", style}, {"x", x}, {"y", coordinate(y)}},
               text);
}

void draw_key(Markup& page, const std::vector<KeyEntry>& entries) {
  page.open("p", {{"class", "key"}});
  for (const KeyEntry& entry : entries) {
    page.open("span");
    page.open("svg", {{"class", "swatch"},
                      {"width", "24"},
                      {"height", "12"},
                      {"aria-hidden", "true"}});
    const std::string style = entry.style;
    if (entry.filled) {
      page.leaf(
          "rect",
          {{"class", "area " + style}, {"width", "24"}, {"height", "12"}});
    } else {
      page.leaf("path", {{"class", "line " + style}, {"d", "M0 6H24"}});
    }
    page.close();
    page.text(entry.label);
    page.close();
  }
  page.close();
}

}  // namespace penstock
