// Reports and node states as plain text. Pure.
#pragma once

#include <string>

#include "report/node_status.h"
#include "report/report.h"

namespace penstock {

struct TextStyle {
  int width = 80;        // columns; 60 to 200, others are clamped
  bool color = false;    // ANSI colours
  bool unicode = false;  // names and bars in UTF-8 rather than ASCII
};

// Ends with a newline; no line is wider than style.width. Control characters in
// the user's strings are replaced, so that a job's name cannot control the
// terminal. Dates are in UTC, changes relative to the job's start; unknown
// figures are shown as "-".
std::string render_text(const JobReport& report, const TextStyle& style = {});

// The live view of `penstock top`.
std::string render_top(const NodeStatus& status, const TextStyle& style = {});

}  // namespace penstock
