// Axes and paths of the report's charts. Pure geometry: no text of ours, no
// colours. Coordinates of paths are those of a drawing that is kPlotWidth wide
// and stretched to the page's width.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace penstock {

inline constexpr double kPlotWidth = 1000;

// Evenly spaced ticks from 0 on, at 1, 2 or 5 times a power of ten.
struct Scale {
  double top = 1;             // the last tick; positive
  std::vector<double> ticks;  // 0 first, ascending
};
// largest: what has to fit; not positive or without end: 0 to 1. about: the
// number of steps wanted, 1 or more; there are at most twice as many.
Scale scale_for(double largest, int about);

// Ticks of a time axis at whole seconds, minutes, hours or days, from 0 to
// duration_s; never more than about + 1. duration_s not positive: {0}.
std::vector<double> time_ticks_s(double duration_s, int about);
// "0", "45 s", "10 min", "1 h 30 min", "2 d 6 h".
std::string tick_text(double seconds);

// One stretch of a horizontal axis and the height of a line over it.
struct Step {
  double from = 0;  // shares of the axis, 0 to 1; from <= to
  double to = 0;
  std::optional<double> height;  // share of the vertical axis; nullopt: a gap
};

// A line in steps, `d` of an SVG path; broken where heights are unknown. Equal
// neighbours are one. Heights are held within the drawing.
std::string line_path(const std::vector<Step>& steps, double plot_height);
// The same with what is below it filled.
std::string area_path(const std::vector<Step>& steps, double plot_height);

// A coordinate with one decimal at most, without a trailing zero: "12.5".
std::string coordinate(double value);
// A share of the width as an attribute: "12.5%".
std::string percent(double share);

// Neighbours that would overlap when drawn, as one: first and count of each
// group. shares: ascending, of the axis; apart: the least distance between the
// first ones of two groups, positive.
struct Group {
  size_t first = 0;
  size_t count = 0;
  double at = 0;  // where the first one is
};
std::vector<Group> grouped(const std::vector<double>& shares, double apart);

}  // namespace penstock
