// Rate against loader cores, with the job's own point.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html_chart.h"
#include "report/text.h"

namespace penstock {
namespace {

constexpr double kPlotHeight = 190;
constexpr int kSteps = 4;
// The table has every fourth point, and those with a name.
constexpr size_t kToldEvery = 4;
// Cores do not explain a rate this far under the curve.
constexpr double kUnder = 0.1;

// Converts a point of the curve to coordinates of the drawing.
struct Frame {
  double cores;
  double rate;

  double share(double at) const { return std::clamp(at / cores, 0.0, 1.0); }
  std::string x(double at) const { return coordinate(kPlotWidth * share(at)); }
  double height(double at) const {
    return kPlotHeight * (1 - std::clamp(at / rate, 0.0, 1.0));
  }
  std::string point(double at_cores, double at_rate) const {
    return x(at_cores) + " " + coordinate(height(at_rate));
  }
};

Frame frame_of(const WhatIfCurve& curve) {
  double rate = std::max(curve.ceiling, curve.here_rate.value_or(0));
  for (const RateAtCores& point : curve.points) {
    rate = std::max(rate, point.rate.high);
  }
  const double cores =
      std::max(curve.points.back().cores, curve.here_cores.value_or(0));
  return {cores > 0 ? cores : 1, scale_for(rate, kSteps).top};
}

bool is_beyond(const WhatIfCurve& curve, const RateAtCores& point) {
  return !curve.measured_cores || point.cores > *curve.measured_cores;
}

// The measured part of the curve, or the part beyond; they share a point.
std::string curve_path(const WhatIfCurve& curve, const Frame& frame,
                       bool beyond) {
  std::string out;
  for (size_t i = 1; i < curve.points.size(); ++i) {
    const RateAtCores& last = curve.points[i - 1];
    const RateAtCores& point = curve.points[i];
    if (is_beyond(curve, point) != beyond) continue;
    if (out.empty()) out = "M" + frame.point(last.cores, last.rate.value);
    out += "L" + frame.point(point.cores, point.rate.value);
  }
  return out;
}

std::string band_path(const WhatIfCurve& curve, const Frame& frame) {
  std::string out;
  for (const RateAtCores& point : curve.points) {
    out +=
        (out.empty() ? "M" : "L") + frame.point(point.cores, point.rate.high);
  }
  for (size_t i = curve.points.size(); i-- > 0;) {
    const RateAtCores& point = curve.points[i];
    out += "L" + frame.point(point.cores, point.rate.low);
  }
  return out + "Z";
}

bool has_here(const WhatIfCurve& curve) {
  return curve.here_cores && curve.here_rate;
}

// Rounded up, so that the displayed number is enough.
std::string enough_cores_text(const WhatIfCurve& curve) {
  const double cores = std::ceil(*curve.enough_cores * 100) / 100;
  const bool beyond =
      !curve.measured_cores || *curve.enough_cores > *curve.measured_cores;
  return fmt::format("{:.2f} loader cores{}", cores,
                     beyond ? " (extrapolated)" : "");
}

std::string here_text(const WhatIfCurve& curve) {
  return fmt::format("{} cores, {}/s", figure_text(curve.here_cores),
                     figure_text(curve.here_rate));
}

void draw_here(Markup& page, const WhatIfCurve& curve, const Frame& frame) {
  const double share = frame.share(*curve.here_cores);
  const double y = frame.height(*curve.here_rate);
  page.leaf("circle", {{"class", "here"},
                       {"cx", percent(share)},
                       {"cy", coordinate(y)},
                       {"r", "5"}});
  // Put the label on the side with room and below the point, because the curve
  // is above. Near the axis put it above.
  const bool left = share > 0.5;
  const double text_y = y > kPlotHeight - 45 ? y - 28 : y + 18;
  page.open("svg", {{"x", percent(share)}, {"class", "plot"}});
  const std::string x = left ? "-9" : "9";
  const std::string style = left ? "label end" : "label";
  draw_text(page, style, x, text_y, "you are here:");
  draw_text(page, style, x, text_y + 14, here_text(curve));
  page.close();
}

void draw_cores_axis(Markup& page, const Frame& frame) {
  for (double tick : scale_for(frame.cores, kSteps).ticks) {
    if (tick > frame.cores) continue;
    const std::string x = percent(tick / frame.cores);
    draw_upright(page, "tick", x, kPlotHeight, kPlotHeight + 4);
    draw_text(page, "time", x, kPlotHeight + 17, fmt::format("{:.6g}", tick));
  }
  draw_text(page, "time quiet", "50%", kPlotHeight + 34, "loader cores");
}

// Labels of a point, for the table.
std::string told_text(const WhatIfCurve& curve, const RateAtCores& point) {
  std::string out;
  const auto add = [&](const char* text) {
    out += (out.empty() ? "" : ", ") + std::string(text);
  };
  if (point.cores == curve.here_cores) add("granted: you are here");
  if (point.cores == curve.enough_cores) add("enough");
  if (is_beyond(curve, point) && point.cores > 0) add("extrapolated");
  return out;
}

void curve_table(Markup& page, const WhatIfCurve& curve) {
  std::vector<Cells> rows;
  for (size_t i = 0; i < curve.points.size(); ++i) {
    const RateAtCores& point = curve.points[i];
    const bool is_named = point.cores == curve.here_cores ||
                          point.cores == curve.enough_cores ||
                          point.cores == curve.measured_cores;
    if (i % kToldEvery != 0 && !is_named) continue;
    rows.push_back({figure_text(point.cores), estimate_text(point.rate),
                    share_text(ratio(point.rate.value, curve.ceiling)),
                    told_text(curve, point)});
  }
  folded_table(page, "Rate against loader cores",
               {"loader cores", "samples/s", "of the ceiling", ""}, rows);
}

std::vector<KeyEntry> key_of(const WhatIfCurve& curve) {
  std::vector<KeyEntry> out;
  if (curve.measured_cores) out.push_back({"expected", "measured", false});
  if (is_beyond(curve, curve.points.back())) {
    out.push_back({curve.measured_cores ? "extrapolated" : "predicted",
                   "measured beyond", false});
  }
  out.push_back({"interval", "band", true});
  out.push_back({"ceiling: " + figure_text(curve.ceiling), "level", false});
  if (curve.enough_cores) {
    out.push_back({"enough: " + enough_cores_text(curve), "enough", false});
  }
  return out;
}

void draw_lines(Markup& page, const WhatIfCurve& curve, const Frame& frame) {
  open_plot(page, kPlotHeight);
  const auto line = [&](const char* style, const std::string& path) {
    if (!path.empty()) page.leaf("path", {{"class", style}, {"d", path}});
  };
  line("area band", band_path(curve, frame));
  line("line level",
       "M" + frame.point(0, curve.ceiling) + "H" + coordinate(kPlotWidth));
  if (curve.enough_cores) {
    line("line enough",
         "M" + frame.x(*curve.enough_cores) + " 0V" + coordinate(kPlotHeight));
  }
  line("line measured", curve_path(curve, frame, false));
  line("line measured beyond", curve_path(curve, frame, true));
  page.close();
}

std::string description_of(const WhatIfCurve& curve) {
  std::string out = fmt::format(
      "The rate rises with loader cores up to {} samples/s; the ceiling is {}.",
      figure_text(curve.points.back().rate.value), figure_text(curve.ceiling));
  if (has_here(curve)) out += " You are here: " + here_text(curve) + ".";
  if (curve.enough_cores) out += " Enough: " + enough_cores_text(curve) + ".";
  return out;
}

void draw_curve(Markup& page, const WhatIfCurve& curve) {
  const Frame frame = frame_of(curve);
  open_figure(page, "Rate against loader cores, samples/s");
  draw_key(page, key_of(curve));
  open_svg(page, "what-if", "Rate against loader cores", description_of(curve),
           kPlotHeight);
  draw_scale(page, scale_for(frame.rate, kSteps), kPlotHeight);
  draw_lines(page, curve, frame);
  if (has_here(curve)) draw_here(page, curve, frame);
  draw_cores_axis(page, frame);
  page.close();
  curve_table(page, curve);
  page.close();
}

std::string enough_text(const WhatIfCurve& curve) {
  if (curve.enough_cores) {
    return "Enough: " + enough_cores_text(curve) +
           ", the fewest with 97% of the ceiling, where data is no longer the "
           "bottleneck.";
  }
  return "No number of cores is enough: " + curve.why_not_enough + ".";
}

std::string extrapolation_text(const WhatIfCurve& curve) {
  if (!curve.measured_cores) {
    return "No number of cores was measured: all of the curve is a prediction.";
  }
  return fmt::format(
      "Beyond {} loader cores, the most that were measured, the curve is an "
      "extrapolation.",
      figure_text(curve.measured_cores));
}

// A note for a job far under the curve: it waits for something other than
// cores.
std::string under_text(const JobReport& report, const WhatIfCurve& curve) {
  if (!has_here(curve)) return "";
  for (const RateAtCores& point : curve.points) {
    if (point.cores != curve.here_cores) continue;
    const double under = 1 - *curve.here_rate / point.rate.value;
    if (!(under > kUnder)) return "";
    const auto& cores = report.cores;
    return fmt::format(
        "The job was {:.0f}% under the curve, and its loader used {} of the {} "
        "cores granted: cores are not all that it waited for.",
        under * 100,
        figure_text(cores.used_home.value_or(0) + cores.used_away.value_or(0)),
        figure_text(curve.here_cores));
  }
  return "";
}

}  // namespace

void what_if_section(Markup& page, const JobReport& report) {
  page.element("h2", "What more or fewer loader cores would do");
  if (!report.what_if) {
    return page.element(
        "p", "Not known: the penstockd that wrote this report told no curve.");
  }
  const WhatIfCurve& curve = *report.what_if;
  if (!curve.unknown.empty() || curve.points.size() < 2) {
    return page.element("p", "Not known: " + curve.unknown + ".");
  }
  draw_curve(page, curve);
  page.element("p", enough_text(curve) + " " + extrapolation_text(curve));
  const std::string under = under_text(report, curve);
  if (!under.empty()) page.element("p", under);
  page.element("p", "What it rests on: " + curve.basis + ".");
  for (const std::string& note : curve.notes) page.element("p", note);
}

}  // namespace penstock
