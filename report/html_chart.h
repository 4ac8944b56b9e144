// Draws one figure of the HTML report: an SVG of the page's width, its key and
// its table. Internal to report/.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/html_parts.h"

namespace penstock {

// One quantity over time. `style` is its class in the style sheet.
struct Quantity {
  enum class Look { kStacked, kLine };
  std::string label;
  const char* style = "";
  Look look = Look::kLine;
  std::function<std::optional<double>(const TimelinePoint&)> of;
};

// A constant level, such as the ceiling.
struct Level {
  std::string label;
  const char* style = "";
  double value = 0;
};

struct TimeFigure {
  std::string id;           // prefix of the ids of its SVG elements
  std::string title;        // also the caption
  std::string description;  // for a screen reader
  std::vector<Quantity> quantities;
  std::vector<Level> levels;
  double plot_height = 150;  // CSS pixels
  double unit = 1;           // value of 1 on the vertical axis
  double least_top = 0;      // minimum top of the vertical axis
  std::string unit_text;     // "samples/s"; "" if the title names the unit
  std::string (*value_text)(const std::optional<double>&) = nullptr;
  bool marked = true;  // show the grant changes
};

// Draws nothing and returns false if every quantity is unknown.
bool draw(Markup& page, const TimeFigure& figure, const DrawnCourse& course);

// Parts of a figure that other figures share.
void open_figure(Markup& page, const std::string& title);
void open_svg(Markup& page, const std::string& id, const std::string& title,
              const std::string& description, double plot_height);
void draw_scale(Markup& page, const Scale& scale, double plot_height);
void open_plot(Markup& page, double plot_height);
// Lines and a text of a chart. x: a share of the width or pixels, as an
// attribute.
void draw_level(Markup& page, const std::string& style, double y);
void draw_upright(Markup& page, const std::string& style, const std::string& x,
                  double from_y, double to_y);
void draw_text(Markup& page, const std::string& style, const std::string& x,
               double y, const std::string& text);
// An entry of the key; style as in Quantity.
struct KeyEntry {
  std::string label;
  const char* style = "";
  bool filled = false;
};
void draw_key(Markup& page, const std::vector<KeyEntry>& entries);

}  // namespace penstock
