// Helpers shared by SVG drawings. Pure.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// A <text> element at x, y with its anchor ("start", "middle" or "end"); words
// are escaped (markup.h).
std::string svg_text(double x, double y, const char* anchor,
                     std::string_view words);

}  // namespace penstock
