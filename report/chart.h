// Axes and paths of the report's charts. Pure geometry: no text, no colours.
// Paths use the coordinates of a drawing kPlotWidth wide, which is stretched to
// the page's width.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace penstock {

inline constexpr double kPlotWidth = 1000;

// Evenly spaced ticks from 0, at 1, 2 or 5 times a power of ten.
struct Scale {
  double top = 1;             // the last tick; positive
  std::vector<double> ticks;  // 0 first, ascending
};
// largest: the value that must fit; not positive or not finite: 0 to 1. about:
// the wanted number of steps, 1 or more; the result has at most twice as many.
Scale scale_for(double largest, int about);

// Ticks of a time axis at whole seconds, minutes, hours or days, from 0 to
// duration_s; at most about + 1. A duration_s that is not positive gives {0}.
std::vector<double> time_ticks_s(double duration_s, int about);
// "0", "45 s", "10 min", "1 h 30 min", "2 d 6 h".
std::string tick_text(double seconds);

// A part of a horizontal axis, and the height of a line over it.
struct Step {
  double from = 0;  // shares of the axis, 0 to 1; from <= to
  double to = 0;
  std::optional<double> height;  // share of the vertical axis; nullopt: a gap
};

// A step line, as `d` of an SVG path; broken at unknown heights. Equal
// neighbours are joined. Heights are clamped to the drawing.
std::string line_path(const std::vector<Step>& steps, double plot_height);
// The step line with the area below it.
std::string area_path(const std::vector<Step>& steps, double plot_height);

// A coordinate with at most one decimal and no trailing zero: "12.5".
std::string coordinate(double value);
// A share of the width as an attribute: "12.5%".
std::string percent(double share);

// Groups marks that would overlap when drawn. shares: ascending, of the axis.
// apart: least distance between the first marks of two groups, positive.
struct Group {
  size_t first = 0;
  size_t count = 0;
  double at = 0;  // share of the first one
};
std::vector<Group> grouped(const std::vector<double>& shares, double apart);

}  // namespace penstock
