// What drawings in SVG share. Pure.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// A <text> element, its words escaped (markup.h), with its anchor ("start",
// "middle" or "end") at x, y.
std::string svg_text(double x, double y, const char* anchor,
                     std::string_view words);

}  // namespace penstock
