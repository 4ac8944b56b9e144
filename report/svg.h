// What drawings in SVG share. Pure.
#pragma once

#include <string>
#include <string_view>

namespace penstock {

// Text for an element or an attribute: what XML gives a meaning is escaped,
// and bytes outside printable ASCII, which a user's name may hold, are '?'.
std::string svg_escaped(std::string_view text);

// A <text> element with its anchor ("start", "middle" or "end") at x, y.
std::string svg_text(double x, double y, const char* anchor,
                     std::string_view words);

}  // namespace penstock
