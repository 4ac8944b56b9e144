// Rate against loader cores, with where the job is.
#include <fmt/format.h>

#include <algorithm>

#include "report/html_chart.h"
#include "report/text.h"

namespace penstock {
namespace {

constexpr double kPlotHeight = 170;
constexpr int kSteps = 4;

// From a point of the curve to the drawing.
struct Frame {
  double cores;
  double rate;

  std::string x(double at) const {
    return coordinate(kPlotWidth * std::min(1.0, at / cores));
  }
  std::string y(double at) const {
    return coordinate(kPlotHeight * (1 - std::clamp(at / rate, 0.0, 1.0)));
  }
};

std::string curve_path(const WhatIfCurve& curve, const Frame& frame) {
  std::string out;
  for (const WhatIfPoint& point : curve.points) {
    out += (out.empty() ? "M" : "L") + frame.x(point.cores) + " " +
           frame.y(point.rate.value);
  }
  return out;
}

std::string band_path(const WhatIfCurve& curve, const Frame& frame) {
  std::string out;
  for (const WhatIfPoint& point : curve.points) {
    out += (out.empty() ? "M" : "L") + frame.x(point.cores) + " " +
           frame.y(point.rate.high);
  }
  for (size_t i = curve.points.size(); i-- > 0;) {
    const WhatIfPoint& point = curve.points[i];
    out += "L" + frame.x(point.cores) + " " + frame.y(point.rate.low);
  }
  return out + "Z";
}

std::string here_text(const WhatIfCurve& curve) {
  return fmt::format("{} cores, {}/s", figure_text(curve.here_cores),
                     figure_text(curve.here_rate));
}

void draw_here(Markup& page, const WhatIfCurve& curve, const Frame& frame) {
  const double share = std::clamp(curve.here_cores / frame.cores, 0.0, 1.0);
  const double y =
      kPlotHeight * (1 - std::clamp(curve.here_rate / frame.rate, 0.0, 1.0));
  page.leaf("circle", {{"class", "here"},
                       {"cx", percent(share)},
                       {"cy", coordinate(y)},
                       {"r", "5"}});
  // To the side that has room, below the point: the curve is above it. Near
  // the axis it goes above.
  const bool left = share > 0.5;
  const double text_y = y > kPlotHeight - 45 ? y - 28 : y + 18;
  page.open("svg", {{"x", percent(share)}, {"class", "plot"}});
  const std::string x = left ? "-9" : "9";
  const std::string style = left ? "label end" : "label";
  page.element("text", {{"class", style}, {"x", x}, {"y", coordinate(text_y)}},
               "you are here:");
  page.element("text",
               {{"class", style}, {"x", x}, {"y", coordinate(text_y + 14)}},
               here_text(curve));
  page.close();
}

void draw_cores_axis(Markup& page, const Frame& frame) {
  for (double tick : scale_for(frame.cores, kSteps).ticks) {
    if (tick > frame.cores) continue;
    const std::string x = percent(tick / frame.cores);
    page.leaf("line", {{"class", "tick"},
                       {"x1", x},
                       {"x2", x},
                       {"y1", coordinate(kPlotHeight)},
                       {"y2", coordinate(kPlotHeight + 4)}});
    page.element(
        "text",
        {{"class", "time"}, {"x", x}, {"y", coordinate(kPlotHeight + 17)}},
        fmt::format("{:.6g}", tick));
  }
  page.element("text",
               {{"class", "time quiet"},
                {"x", "50%"},
                {"y", coordinate(kPlotHeight + 34)}},
               "loader cores");
}

void curve_table(Markup& page, const WhatIfCurve& curve) {
  page.open("details");
  page.element("summary", "The figures as a table");
  open_table(page, "Rate against loader cores", {"loader cores", "samples/s"});
  for (const WhatIfPoint& point : curve.points) {
    table_row(page, {figure_text(point.cores), estimate_text(point.rate)});
  }
  close_table(page);
  page.close();
}

void draw_curve(Markup& page, const WhatIfCurve& curve) {
  double rate = std::max(curve.ceiling, curve.here_rate);
  for (const WhatIfPoint& point : curve.points) {
    rate = std::max(rate, point.rate.high);
  }
  const Scale scale = scale_for(rate, kSteps);
  const Frame frame{std::max(curve.points.back().cores, curve.here_cores),
                    scale.top};
  open_figure(page, "Rate against loader cores, samples/s");
  draw_key(page, {{"expected", "measured", false},
                  {"interval", "band", true},
                  {"ceiling: " + figure_text(curve.ceiling), "level", false}});
  open_svg(page, "what-if", "Rate against loader cores",
           fmt::format("The rate rises with loader cores up to {} samples/s. "
                       "You are here: {}.",
                       figure_text(curve.points.back().rate.value),
                       here_text(curve)),
           kPlotHeight);
  draw_scale(page, scale, kPlotHeight);
  open_plot(page, kPlotHeight);
  page.leaf("path", {{"class", "area band"}, {"d", band_path(curve, frame)}});
  page.leaf("path",
            {{"class", "line measured"}, {"d", curve_path(curve, frame)}});
  const std::string y = frame.y(curve.ceiling);
  page.leaf("path", {{"class", "line level"}, {"d", "M0 " + y + "H1000"}});
  page.close();
  draw_here(page, curve, frame);
  draw_cores_axis(page, frame);
  page.close();
  curve_table(page, curve);
  page.close();
}

}  // namespace

void what_if_section(Markup& page, const std::optional<WhatIfCurve>& curve) {
  page.element("h2", "What more or fewer loader cores would do");
  if (!curve || curve->points.size() < 2) {
    page.element("p",
                 "Not known: it takes the ceiling, the cores that it needs, "
                 "the cores used and the throughput.");
    return;
  }
  draw_curve(page, *curve);
  page.element("p", curve->basis + ".");
}

}  // namespace penstock
