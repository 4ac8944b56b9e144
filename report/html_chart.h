// Draws one figure of the HTML report: an SVG that is as wide as the page, its
// key and its table. Internal to report/.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/html_parts.h"

namespace penstock {

// One quantity over time. How it looks is its class in the style sheet.
struct Quantity {
  enum class Look { kStacked, kLine };
  std::string label;
  const char* style = "";
  Look look = Look::kLine;
  std::function<std::optional<double>(const TimelinePoint&)> of;
};

// A level that holds all the time, such as the ceiling.
struct Level {
  std::string label;
  const char* style = "";
  double value = 0;
};

struct TimeFigure {
  std::string id;           // of the elements that belong together
  std::string title;        // also the caption
  std::string description;  // what is to be seen, for a screen reader
  std::vector<Quantity> quantities;
  std::vector<Level> levels;
  double plot_height = 150;  // CSS pixels
  double unit = 1;           // what 1 on the vertical axis stands for
  double least_top = 0;      // of the vertical axis, whatever the figures
  std::string unit_text;     // "samples/s"; "" where the title says it
  std::string (*value_text)(const std::optional<double>&) = nullptr;
  bool marked = true;  // with the grant changes
};

// Nothing is drawn, and false returned, where no quantity is known at all.
bool draw(Markup& page, const TimeFigure& figure, const DrawnCourse& course);

// The parts of it that other figures share.
void open_figure(Markup& page, const std::string& title);
void open_svg(Markup& page, const std::string& id, const std::string& title,
              const std::string& description, double plot_height);
void draw_scale(Markup& page, const Scale& scale, double plot_height);
void open_plot(Markup& page, double plot_height);
// A line of the key; style as in Quantity.
struct KeyEntry {
  std::string label;
  const char* style = "";
  bool filled = false;
};
void draw_key(Markup& page, const std::vector<KeyEntry>& entries);

}  // namespace penstock
