#include "report/svg.h"

#include <fmt/format.h>

#include "common/units.h"

namespace penstock {

std::string svg_escaped(std::string_view text) {
  std::string out;
  for (char c : printable(text, text.size())) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string svg_text(double x, double y, const char* anchor,
                     std::string_view words) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y,
      anchor, svg_escaped(words));
}

}  // namespace penstock
